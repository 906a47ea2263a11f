/** The trash: volumes that can be restored, newest first, for any deletion times. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type DeletedVolume, restorableUntil, trashOf } from "../../../../core/domain/volumes/volume.ts";
import { type Instant, parseInstant, plusMillis, timestampOf } from "../../../../core/domain/wire/instant.ts";
import { volumeName } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const now = parseInstant("2026-03-01T00:00:00Z") as Instant;
const WEEK = 7 * 86_400_000;

/** Ages in milliseconds, including the week's boundary. */
const age = fc.oneof(fc.constantFrom(0, 1, WEEK - 1, WEEK, WEEK + 1), fc.nat({ max: 2 * WEEK }));

const deleted = fc.uniqueArray(fc.tuple(volumeName(), age), { maxLength: 12 }).map((all) =>
  all.map(
    ([name, millis], index): DeletedVolume => ({
      name,
      id: `vol-${index}`,
      deletedAt: timestampOf(plusMillis(now, -millis)),
    }),
  ),
);

const deletedAt = ({ deletedAt: at }: DeletedVolume): Instant => parseInstant(at) as Instant;

test("holds volumes deleted less than a week ago, newest first", () => {
  fc.assert(
    fc.property(deleted, (all) => {
      const trash = trashOf(all, now);
      const young = all.filter((one) => now < plusMillis(deletedAt(one), WEEK));
      expect(new Set(trash.map(({ id }) => id))).toEqual(new Set(young.map(({ id }) => id)));
      expect(trash).toHaveLength(young.length);
      const times = trash.map(({ deleted_at }) => parseInstant(deleted_at) as Instant);
      expect(times).toEqual(times.toSorted((a, b) => (a > b ? -1 : a < b ? 1 : 0)));
      for (const one of trash)
        expect(parseInstant(one.expires_at)).toBe(plusMillis(parseInstant(one.deleted_at) as Instant, WEEK));
    }),
    runs(300),
  );
});

test("does not depend on the order of the store", () => {
  fc.assert(
    fc.property(deleted, (all) => {
      const times = new Set(all.map(({ deletedAt: at }) => at));
      fc.pre(times.size === all.length);
      expect(trashOf(all.toReversed(), now)).toEqual(trashOf(all, now));
    }),
    runs(200),
  );
});

test("the trash lists a volume if and only if it can be restored", () => {
  fc.assert(
    fc.property(deleted, fc.nat({ max: 2 * WEEK }), (all, later) => {
      const then = plusMillis(now, later);
      for (const one of all) expect(trashOf([one], then).length === 1).toBe(restorableUntil(one.deletedAt) > then);
    }),
    runs(200),
  );
});
