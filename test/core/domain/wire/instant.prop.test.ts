/** Instants compared with `Date`, which is exact only to the millisecond, and with their own formatted text. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  instantOfMillis,
  millisOf,
  parseDateTime,
  parseInstant,
  timestampOf,
} from "../../../../core/domain/wire/instant.ts";
import { instant } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const firstDate = new Date("0001-01-01T00:00:00Z");
const lastDate = new Date("9999-12-31T23:59:59.999Z");
const anyDate = fc.date({ min: firstDate, max: lastDate, noInvalidDate: true });

test("a formatted instant parses to the same instant", () => {
  fc.assert(
    fc.property(instant(), (moment) => {
      expect(parseInstant(timestampOf(moment))).toBe(moment);
    }),
    runs(1000),
  );
});

test("text has 0, 3, 6 or 9 fraction digits and +00:00", () => {
  fc.assert(
    fc.property(instant(), (moment) => {
      expect(timestampOf(moment)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(?:\d{3}|\d{6}|\d{9}))?\+00:00$/);
    }),
    runs(1000),
  );
});

test("texts with the same fraction width sort like times", () => {
  fc.assert(
    fc.property(anyDate, anyDate, (a, b) => {
      const [left, right] = [a, b].map((date) => timestampOf(instantOfMillis(date.getTime())).slice(0, 19));
      expect(Math.sign((left ?? "").localeCompare(right ?? ""))).toBe(
        Math.sign(Math.floor(a.getTime() / 1000) - Math.floor(b.getTime() / 1000)),
      );
    }),
    runs(500),
  );
});

test("every calendar date matches Date", () => {
  fc.assert(
    fc.property(anyDate, (date) => {
      const moment = instantOfMillis(date.getTime());
      expect(parseInstant(date.toISOString())).toBe(moment);
      expect(millisOf(moment)).toBe(date.getTime());
      expect(new Date(timestampOf(moment)).getTime()).toBe(date.getTime());
    }),
    runs(1000),
  );
});

test("every offset gives the same moment", () => {
  const offset = fc.record({
    sign: fc.constantFrom("+", "-"),
    hours: fc.integer({ min: 0, max: 23 }),
    minutes: fc.integer({ min: 0, max: 59 }),
  });
  // A day away from both ends, so that the shifted text has a four-digit year.
  const inner = fc.date({ min: new Date("0001-01-03"), max: new Date("9999-12-29"), noInvalidDate: true });
  fc.assert(
    fc.property(inner, offset, (date, { sign, hours, minutes }) => {
      const shift = (hours * 60 + minutes) * 60_000 * (sign === "+" ? 1 : -1);
      const local = new Date(date.getTime() + shift).toISOString().slice(0, -1);
      const zone = `${sign}${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`;
      expect(parseInstant(local + zone)).toBe(instantOfMillis(date.getTime()));
    }),
    runs(1000),
  );
});

test("a fraction may have any number of digits; the first nine count", () => {
  const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 200, size: "max" });
  fc.assert(
    fc.property(anyDate, digits, (date, fraction) => {
      const seconds = date.toISOString().slice(0, 19);
      const read = parseDateTime(`${seconds}.${fraction}Z`);
      const whole = parseInstant(`${seconds}Z`) as bigint;
      expect(read?.instant).toBe(whole + BigInt(fraction.padEnd(9, "0").slice(0, 9)));
      expect(read?.fraction).toBe(fraction);
    }),
    runs(500),
  );
});

test("every parsed date-time can be formatted and parsed again", () => {
  const two = (max: number) => fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, "0"));
  const text = fc
    .tuple(
      fc.constantFrom("0000", "0001", "1970", "2024", "9999"),
      two(13),
      two(32),
      two(25),
      two(61),
      two(62),
      two(25),
    )
    .map(
      ([year, month, day, hour, minute, second, zone]) =>
        `${year}-${month}-${day}T${hour}:${minute}:${second}-${zone}:00`,
    );
  fc.assert(
    fc.property(text, (given) => {
      const moment = parseInstant(given);
      if (moment !== undefined) expect(parseInstant(timestampOf(moment))).toBe(moment);
    }),
    runs(1000),
  );
});
