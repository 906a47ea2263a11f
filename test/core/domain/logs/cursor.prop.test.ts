/** Cursors are valid date-times that sort like the positions they encode. A truncated cursor skips no entry. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  before,
  behind,
  comparePositions,
  cursorOf,
  justBefore,
  type LogPosition,
  nameCode,
  ordinalCode,
  parseCursor,
} from "../../../../core/domain/logs/cursor.ts";
import { type Instant, parseInstant, timestampOf } from "../../../../core/domain/wire/instant.ts";
import { character, instant, logPosition } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const FIRST = parseInstant("0001-01-01T00:00:00Z") as Instant;

/** Positions after the first instant of year 1: a cursor contains the nanosecond before, which must be in year 1. */
const place = () =>
  fc
    .oneof(
      { weight: 9, arbitrary: logPosition() },
      {
        weight: 1,
        arbitrary: fc
          .tuple(logPosition(), fc.nat(3))
          .map(([one, n]) => ({ ...one, instant: (FIRST + BigInt(n)) as Instant })),
      },
    )
    .filter(({ instant }) => instant > FIRST);

test("cursors sort like positions", () => {
  fc.assert(
    fc.property(place(), place(), (a, b) => {
      expect(order(cursorOf(a), cursorOf(b))).toBe(comparePositions(a, b));
    }),
    runs(1000),
  );
});

test("a cursor is a date-time that decodes to its position", () => {
  fc.assert(
    fc.property(place(), (one) => {
      expect(parseInstant(cursorOf(one))).toBe(one.instant - 1n);
      expect(parseCursor(cursorOf(one))).toEqual(one);
      expect(cursorOf(one)).toHaveLength("2026-01-01T00:00:00.0000000000000000000+00:00".length);
    }),
    runs(1000),
  );
});

test("the position directly before an entry is between the entry and every earlier one", () => {
  const code = () => fc.oneof(fc.nat(300).map(ordinalCode), fc.string({ maxLength: 3 }).map(nameCode));
  const near = () => fc.record({ instant: fc.bigInt(1n, 3n).map((n) => (FIRST + n) as Instant), code: code() });
  fc.assert(
    fc.property(near(), near(), (one, entry) => {
      const isSameKind = (one.code.length === 10) === (entry.code.length === 10);
      fc.pre(entry.code !== "" && isSameKind);
      const gap = parseCursor(cursorOf(justBefore(entry))) as LogPosition;
      expect(comparePositions(gap, entry)).toBe(-1);
      if (comparePositions(one, entry) < 0) expect(comparePositions(one, gap)).toBe(-1);
    }),
    runs(5000),
  );
});

test("any other date-time decodes to the position after every entry of its instant, and is its cursor", () => {
  fc.assert(
    fc.property(instant(), (one) => {
      expect(parseCursor(timestampOf(one))).toEqual(behind(one));
      expect(cursorOf(behind(one))).toBe(timestampOf(one));
    }),
    runs(500),
  );
});

test("a truncated cursor precedes its position, so no entry is skipped", () => {
  fc.assert(
    fc.property(place(), fc.integer({ min: 0, max: 19 }), (one, digits) => {
      const text = cursorOf(one);
      const end = text.indexOf(".") + (digits === 0 ? 0 : 1 + digits);
      const cut = parseCursor(`${text.slice(0, end)}+00:00`);
      expect(cut).toBeDefined();
      if (cut !== undefined) expect(comparePositions(cut, one)).toBe(digits === 19 ? 0 : -1);
    }),
    runs(1000),
  );
});

test("the position before any instant has a cursor that decodes to it", () => {
  fc.assert(
    fc.property(fc.oneof(instant(), fc.constantFrom(FIRST, (FIRST + 1n) as Instant)), (one) => {
      expect(parseCursor(cursorOf(before(one)))).toEqual(before(one));
    }),
    runs(300),
  );
});

test("positions are totally ordered, between the start and the end of their instants", () => {
  fc.assert(
    fc.property(fc.array(place(), { maxLength: 20 }), (places) => {
      const sorted = places.toSorted(comparePositions);
      for (const [index, one] of sorted.entries()) {
        expect(comparePositions(sorted[index - 1] ?? before(one.instant), one)).toBeLessThanOrEqual(0);
        expect(comparePositions(before(one.instant), one)).toBe(-1);
        expect(comparePositions(one, behind(one.instant))).toBe(-1);
      }
    }),
    runs(200),
  );
});

test("codes sort like their parts: numbers numerically, names by bytes", () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (a, b) => {
      expect(order(ordinalCode(a), ordinalCode(b))).toBe(Math.sign(a - b));
    }),
    runs(500),
  );
  fc.assert(
    fc.property(fc.string({ unit: character() }), fc.string({ unit: character() }), (a, b) => {
      expect(order(nameCode(a), nameCode(b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    runs(500),
  );
});
