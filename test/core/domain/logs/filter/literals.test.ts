/** Literals of filters: durations to the nanosecond, and the folding of texts for comparison. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { fold } from "../../../../../core/domain/logs/filter/fold.ts";
import { durationOf, nanosOf } from "../../../../../core/domain/logs/filter/literals.ts";
import { nastyString } from "../../../../arbitraries/index.ts";
import { runs } from "../../../../support/vitest/runs.ts";

test("a duration has the same value in every unit", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), (micros) => {
      const nanos = BigInt(micros) * 1000n;
      expect(nanosOf(`${micros}us`)).toBe(nanos);
      expect(nanosOf(`${micros}000ns`)).toBe(nanos);
      const [sign, digits] = [micros < 0 ? "-" : "", String(Math.abs(micros)).padStart(7, "0")];
      expect(nanosOf(`${sign}${digits.slice(0, -6)}.${digits.slice(-6)}s`)).toBe(nanos);
      expect(nanosOf(`${sign}${digits.slice(0, -3)}.${digits.slice(-3)}ms`)).toBe(nanos);
    }),
    runs(500),
  );
});

test.each([
  ["1d", 86_400_000_000_000n],
  ["0.00000000001157407407407407d", 999n],
  [".5s", 500_000_000n],
  ["+1s", 1_000_000_000n],
  ["1.s", 1_000_000_000n],
  ["-2m", -120_000_000_000n],
  ["0.9ns", 0n],
  [".s", undefined],
  ["s", undefined],
  ["1", undefined],
  ["1e3s", undefined],
  ["1h30m", undefined],
  [`${"9".repeat(20_000)}s`, undefined],
])("%.30s", (text, nanos) => expect(nanosOf(text)).toBe(nanos));

test("durationOf returns seconds as a number", () => {
  expect(durationOf("90m")).toBe(5400);
  expect(durationOf("1.5s")).toBe(1.5);
  expect(durationOf("soon")).toBeUndefined();
});

test("folding is idempotent and removes invisible characters", () => {
  fc.assert(
    fc.property(nastyString(), (text) => {
      expect(fold(fold(text))).toBe(fold(text));
      expect(fold([...text].join("\u200b"))).toBe(fold(text));
    }),
    runs(500),
  );
});

test("folding unifies case and composed characters", () => {
  for (const same of ["STRASSE", "strasse", "straße", "STRAẞE"]) expect(fold(same)).toBe("STRASSE");
  for (const same of ["σας", "ΣΑΣ", "σασ"]) expect(fold(same)).toBe(fold("ΣΑΣ"));
  for (const same of ["e\u0301", "é", "É"]) expect(fold(same)).toBe("É");
  expect(fold("ﬁ ½ ①")).toBe(fold("FI 1⁄2 1"));
});

test("folds one letter with many combining marks in bounded time", () => {
  // Sorting these marks by combining class as one run would take minutes.
  const marks = (count: number) => "\u0301".repeat(count) + "\u0316".repeat(count);
  expect(fold(`e${marks(400_000)}`)).toHaveLength(800_000);
  expect(fold(`e${marks(10)}`)).toBe(fold(`e${marks(10)}`.normalize("NFD")));
  expect(fold(`x${"\u0301\uff9e".repeat(200_000)}`)).toHaveLength(400_001);
});

test("does not confuse long texts in the cache", () => {
  const [a, b] = ["a", "b"].map((letter) => letter.repeat(2000)) as [string, string];
  expect([fold(a), fold(b), fold(b), fold(a)]).toEqual([a, b, b, a].map((text) => text.toUpperCase()));
});
