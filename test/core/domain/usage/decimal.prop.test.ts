/** Decimals compared with big integer arithmetic. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  compareDecimals,
  type Decimal,
  decimalText,
  parseDecimal,
  plus,
  roundDecimal,
  shareOf,
  times,
} from "../../../../core/domain/usage/decimal.ts";

const decimals: fc.Arbitrary<Decimal> = fc.record({ digits: fc.bigInt(-(10n ** 30n), 10n ** 30n), scale: fc.nat(30) });

/** The value in units of 10^-60. */
const units = ({ digits, scale }: Decimal): bigint => digits * 10n ** BigInt(60 - scale);

const parsed = (text: string): Decimal => {
  const value = parseDecimal(text);
  if (value === undefined) throw new Error(`'${text}' is not a decimal`);
  return value;
};

test("a formatted decimal parses to the same value", () => {
  fc.assert(
    fc.property(decimals, (one) => {
      expect(units(parsed(decimalText(one)))).toBe(units(one));
    }),
  );
});

test("reads any finite JavaScript number as JSON writes it", () => {
  const numbers = fc.double({ noNaN: true, min: -1e80, max: 1e80 }).filter((one) => one === 0 || Math.abs(one) > 1e-80);
  fc.assert(
    fc.property(numbers, (one) => {
      expect(Number(decimalText(parsed(JSON.stringify(one))))).toBe(one + 0);
    }),
  );
});

test("sums, products and order match the integers", () => {
  fc.assert(
    fc.property(decimals, decimals, (a, b) => {
      expect(units(plus(a, b))).toBe(units(a) + units(b));
      expect(units(times(a, b)) * 10n ** 60n).toBe(units(a) * units(b));
      expect(Math.sign(compareDecimals(a, b))).toBe(units(a) < units(b) ? -1 : units(a) > units(b) ? 1 : 0);
    }),
  );
});

test("rounding moves a value by at most half a unit", () => {
  fc.assert(
    fc.property(decimals, fc.nat(12), (one, places) => {
      const off = units(roundDecimal(one, places)) - units(one);
      expect((off < 0n ? -off : off) * 2n).toBeLessThanOrEqual(10n ** BigInt(60 - places));
    }),
  );
});

test("equal numbers are equal in every notation", () => {
  expect(compareDecimals(parsed("1.50"), parsed("1.5"))).toBe(0);
  expect(compareDecimals(parsed("1.5"), parsed("1.50"))).toBe(0);
});

test("a share is rounded up to a ten-thousandth, so only zero has a share of zero", () => {
  const amounts = fc.integer({ min: 1, max: 10 ** 9 }).chain((whole) => fc.tuple(fc.nat(whole), fc.constant(whole)));
  fc.assert(
    fc.property(amounts, fc.nat(6), fc.nat(6), ([part, whole], more, places) => {
      const [top, bottom] = [BigInt(part), BigInt(whole)];
      // The same amounts, written with more digits.
      const share = shareOf({ digits: top * 10n ** BigInt(more), scale: more }, { digits: bottom, scale: 0 });
      const again = shareOf({ digits: top, scale: 0 }, { digits: bottom * 10n ** BigInt(places), scale: places });
      expect(again).toBe(share);
      expect(BigInt(Math.round(share * 10_000))).toBe((top * 10_000n + bottom - 1n) / bottom);
    }),
  );
  expect(shareOf(parsed("1"), parsed("3"))).toBe(0.3334);
  expect(shareOf(parsed("0.000000001"), parsed("1"))).toBe(0.0001);
  expect(shareOf(parsed("2.5"), parsed("2.50"))).toBe(1);
});

test("shares of zero are zero", () => {
  expect(shareOf(parsed("0"), parsed("0"))).toBe(0);
  expect(shareOf(parsed("1"), parsed("0.00"))).toBe(0);
  expect(shareOf(parsed("1"), parsed("-1"))).toBe(0);
});

test.each([
  "",
  " 1",
  "1.",
  ".5",
  "01",
  "+1",
  "1e",
  "0x10",
  "NaN",
  "Infinity",
  "1e999999999",
  "1e-999",
  "1".repeat(101),
  "1_000",
  "-",
])("rejects '%s'", (text) => expect(parseDecimal(text)).toBeUndefined());

test.each([
  ["1e-7", "0.0000001"],
  ["-0", "0"],
  ["1.50", "1.5"],
  ["2E+3", "2000"],
  ["12.345e2", "1234.5"],
])("%s is %s", (text, plain) => expect(decimalText(parsed(text))).toBe(plain));
