/** The pages that a search in a cloud's log reads. */
import { expect, test } from "vitest";
import { type Listing, type Scan, scanAfter, scanBefore, scanNewest } from "../../../../adapters/cloud/logs/scan.ts";
import { comparePositions, type LogPosition, ordinalCode } from "../../../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../../../core/domain/logs/entry.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";

const ENTRIES = 5000;
const MAX_PAGE = 1000;

const positionOf = (n: number): LogPosition => ({ instant: BigInt(n) as Instant, code: ordinalCode(n) });

/** Lists entries at the instants 1 to `ENTRIES`, and records the size of each page. */
const logWith = (matches: (n: number) => boolean, matchesAll: boolean): { readonly scan: Scan; sizes: number[] } => {
  const sizes: number[] = [];
  const all = Array.from(
    { length: ENTRIES },
    (_, n) => ({ ...positionOf(n + 1), payload: { text: "" } }) as unknown as LogEntry,
  );
  const scan: Scan = {
    list: async ({ from = 0n, to = BigInt(ENTRIES) }, order, size, token = "0"): Promise<Listing> => {
      const found = all.filter(({ instant }) => instant >= from && instant <= to);
      const sorted = order === "asc" ? found : found.toReversed();
      sizes.push(size);
      const end = Number(token) + size;
      return { entries: sorted.slice(Number(token), end), ...(end < sorted.length ? { next: String(end) } : {}) };
    },
    pushed: "everything",
    matches: ({ instant }) => matches(Number(instant)),
    matchesAll,
    limit: 10,
    until: undefined,
    needsSeen: true,
    isOver: () => false,
    grain: { asc: 0n, desc: 0n },
    maxPageEntries: MAX_PAGE,
  };
  return { scan, sizes };
};

const searches = {
  scanNewest: (scan: Scan) => scanNewest(scan),
  scanAfter: (scan: Scan) => scanAfter(scan, positionOf(0)),
  scanBefore: (scan: Scan) => scanBefore(scan, positionOf(ENTRIES + 1)),
};

test.each(Object.entries(searches))(
  "%s reads the largest pages if Portside must evaluate the filter",
  async (name, search) => {
    const wanted = name === "scanAfter" ? ENTRIES : 1;
    const { scan, sizes } = logWith((n) => n === wanted, false);
    expect((await search(scan)).entries.map(({ instant }) => Number(instant))).toEqual([wanted]);
    expect(sizes).toEqual(Array.from({ length: ENTRIES / MAX_PAGE }, () => MAX_PAGE));
  },
);

test.each(Object.entries(searches))("%s reads one page of the limit if every entry matches", async (_, search) => {
  const { scan, sizes } = logWith(() => true, true);
  expect((await search(scan)).entries).toHaveLength(10);
  expect(sizes).toEqual([11]);
});

test("a backward search without entries in its narrowed listing stops at its time limit, and still makes progress", async () => {
  const wanted = 700;
  const { scan } = logWith((n) => n === wanted, false);
  let calls = 0;
  /** A cloud that returns empty pages while it searches for the entries that may match. */
  const slow: Scan = {
    ...scan,
    pushed: "some",
    isOver: () => calls >= 3,
    list: async (range, ...page) => {
      calls += 1;
      if (calls > 20) throw new Error("the search does not end");
      return range.narrowed ? { entries: [], next: "more" } : scan.list(range, ...page);
    },
  };
  const found: number[] = [];
  for (let [place, pages] = [positionOf(ENTRIES + 1), 0]; ; pages++) {
    calls = 0;
    const { entries, seen, partial } = await scanBefore(slow, place);
    expect(calls).toBe(4);
    found.push(...entries.map(({ instant }) => Number(instant)));
    if (seen === undefined) {
      expect(pages).toBeGreaterThan(2);
      break;
    }
    expect(partial).toBe(true);
    expect(comparePositions(seen, place)).toBe(-1);
    place = seen;
  }
  expect(found).toEqual([wanted]);
});
