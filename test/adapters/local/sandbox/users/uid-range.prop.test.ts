/** The uids of accounts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { localConfigSchema } from "../../../../../adapters/local/config.ts";
import {
  freeUid,
  holdersWithin,
  readUidRange,
  type UidRange,
} from "../../../../../adapters/local/sandbox/users/uid-range.ts";

const rangeOf = (text: string): UidRange => {
  const range = readUidRange(text);
  if (typeof range === "string") throw new Error(range);
  return range;
};

describe("a range", () => {
  test("is FROM-TO", () => {
    expect(readUidRange("200000-265535")).toEqual({ from: 200_000, to: 265_535 });
    expect(readUidRange("1000-1000")).toEqual({ from: 1000, to: 1000 });
  });

  test.each([
    ["1000", "must be FROM-TO"],
    ["-1-5", "must be FROM-TO"],
    ["1e3-2e3", "must be FROM-TO"],
    ["2000-1999", "must begin with the lower number"],
    ["999-2000", "must not begin below 1000"],
    ["0-2000", "must not begin below 1000"],
    ["2000-2147483648", "must not end above 2147483647"],
    ["2000-99999999999", "must be FROM-TO"],
    ["61000-61184", "which the system reserves"],
    ["65534-70000", "which the system reserves"],
    ["2000-70000", "which the system reserves"],
  ])("%s is refused: %s", (text, why) => {
    expect(readUidRange(text)).toContain(why);
    expect(localConfigSchema.safeParse({ dataDir: "x", uidRange: text }).error?.message).toContain(why);
  });

  test("defaults to uids that no system user has", () => {
    expect(rangeOf(localConfigSchema.parse({ dataDir: "x" }).uidRange)).toEqual({
      from: 2_100_000_000,
      to: 2_100_999_999,
    });
  });
});

const ranges = fc
  .tuple(fc.integer({ min: 70_000, max: 80_000 }), fc.integer({ min: 0, max: 40 }))
  .map(([from, more]): UidRange => ({ from, to: from + more }));

test("assigns numbers of the range, each once, until all are used", () => {
  fc.assert(
    fc.property(ranges, fc.array(fc.nat({ max: 2 ** 32 - 1 }), { maxLength: 60 }), fc.nat(), (range, starts, real) => {
      const size = range.to - range.from + 1;
      const isReal = (uid: number) => uid % 7 === real % 7;
      const given = new Set<number>();
      const usable = Array.from({ length: size }, (_, step) => range.from + step).filter((uid) => !isReal(uid));
      for (const start of starts) {
        const uid = freeUid(range, start, (one) => given.has(one) || isReal(one));
        if (uid === undefined) {
          expect(given.size).toBe(usable.length);
          continue;
        }
        expect(given).not.toContain(uid);
        expect(usable).toContain(uid);
        given.add(uid);
      }
      expect(given.size).toBe(Math.min(starts.length, usable.length));
    }),
  );
});

test("finds users and subordinate users within a range, and not outside of it", () => {
  fc.assert(
    fc.property(
      ranges,
      fc.integer({ min: 69_900, max: 80_100 }),
      fc.integer({ min: 1, max: 200 }),
      (range, id, count) => {
        const within = id >= range.from && id <= range.to;
        expect(holdersWithin(range, `root:x:0:0::/:/bin/sh\nbob:x:${id}:1::/:/bin/sh\n`, "")).toEqual(
          within ? [`'bob' (${id})`] : [],
        );
        const overlaps = id <= range.to && id + count - 1 >= range.from;
        expect(holdersWithin(range, "", `bob:${id}:${count}\n`)).toHaveLength(overlaps ? 1 : 0);
      },
    ),
  );
});

test("skips invalid lines", () => {
  const range = rangeOf("200000-265535");
  expect(holdersWithin(range, "\n# comment\n+::::::\nbob:x:\nalice:x:two\n", "\nbob:\nbob:x:y\n")).toEqual([]);
});
