/** Cursors are legal date-times that sort as the positions they stand for. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseDateTime } from "../../../core/domain/instant.ts";
import { comparePositions, cursorOf } from "../../../core/domain/log-entry.ts";
import { logPosition } from "../../arbitraries/index.ts";
import { runs } from "../../support/runs.ts";

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

test("cursors sort as positions do", () => {
  fc.assert(
    fc.property(logPosition(), logPosition(), (a, b) => {
      expect(order(cursorOf(a), cursorOf(b))).toBe(Math.sign(comparePositions(a, b)));
    }),
    runs(1000),
  );
});

test("a cursor is a date-time that gives its position back", () => {
  fc.assert(
    fc.property(logPosition(), (position) => {
      const read = parseDateTime(cursorOf(position));
      expect(read?.instant).toBe(position.instant);
      expect(Number(read?.fraction.slice(9))).toBe(position.ordinal);
      expect(cursorOf(position)).toHaveLength("2026-01-01T00:00:00.0000000000000000000+00:00".length);
    }),
    runs(1000),
  );
});

test("positions are totally ordered", () => {
  fc.assert(
    fc.property(fc.array(logPosition(), { maxLength: 20 }), (positions) => {
      const sorted = positions.toSorted(comparePositions);
      for (const [index, one] of sorted.slice(1).entries())
        expect(comparePositions(sorted[index] ?? one, one)).toBeLessThanOrEqual(0);
    }),
    runs(200),
  );
});
