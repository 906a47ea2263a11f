/**
 * Exact decimal numbers for sums of money, because binary floats are inexact (0.1 + 0.2 is 0.30000000000000004).
 */

/** `digits` divided by ten to the power of `scale`. The scale is never negative. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

export const zero: Decimal = { digits: 0n, scale: 0 };

/** https://www.rfc-editor.org/rfc/rfc8259#section-6 */
const JSON_NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Maximum number of digits. No amount of money needs more, and without a bound, `1e999999999` would exhaust memory. */
const MAX_DIGITS = 100;

/** Parses a JSON number exactly. Returns undefined if it is malformed or needs more than 100 digits. */
export const parseDecimal = (text: string): Decimal | undefined => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = JSON_NUMBER.exec(text) ?? [];
  if (whole === "" || text.length > MAX_DIGITS || exponent.length > 4) return undefined;
  const shift = Number(exponent) - fraction.length;
  if (Math.abs(shift) > MAX_DIGITS) return undefined;
  const digits = BigInt(`${sign}${whole}${fraction}`);
  return shift >= 0 ? { digits: digits * 10n ** BigInt(shift), scale: 0 } : { digits, scale: -shift };
};

/** Returns the digits of a number at a different scale, which must not be smaller. */
const digitsAt = ({ digits, scale }: Decimal, wanted: number): bigint =>
  wanted === scale ? digits : digits * 10n ** BigInt(wanted - scale);

export const plus = (a: Decimal, b: Decimal): Decimal => {
  const scale = Math.max(a.scale, b.scale);
  return { digits: digitsAt(a, scale) + digitsAt(b, scale), scale };
};

export const times = (a: Decimal, b: Decimal): Decimal => ({ digits: a.digits * b.digits, scale: a.scale + b.scale });

/** Returns a negative number, zero or a positive number, for `sort`. */
export const compareDecimals = (a: Decimal, b: Decimal): number => {
  const scale = Math.max(a.scale, b.scale);
  const [left, right] = [digitsAt(a, scale), digitsAt(b, scale)];
  return left < right ? -1 : left > right ? 1 : 0;
};

/** Rounds to a number of decimal places, half away from zero. */
export const roundDecimal = (value: Decimal, places: number): Decimal => {
  if (value.scale <= places) return value;
  const unit = 10n ** BigInt(value.scale - places);
  const half = value.digits < 0n ? -unit / 2n : unit / 2n;
  return { digits: (value.digits + half) / unit, scale: places };
};

/** Formats a number without an exponent or trailing zeros: `0.0125`, `12`. Pads with zeros to at least `places`. */
export const decimalText = ({ digits, scale }: Decimal, places = 0): string => {
  const negative = digits < 0n;
  const text = String(negative ? -digits : digits).padStart(scale + 1, "0");
  const whole = text.slice(0, text.length - scale);
  const fraction = text
    .slice(text.length - scale)
    .replace(/0+$/, "")
    .padEnd(places, "0");
  return `${negative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
};

const AMOUNT_PLACES = 4;

/** Formats an amount of money for people. An amount below the last decimal shown must not look like zero. */
export const formatAmount = (amount: Decimal): string => {
  const rounded = roundDecimal(amount, AMOUNT_PLACES);
  return amount.digits > 0n && rounded.digits === 0n ? "<0.0001" : decimalText(rounded, 2);
};

/** Returns the share of `part` in `whole`, from 0 to 1, for charts. Rounds up, so that a small share is not 0. */
export const shareOf = (part: Decimal, whole: Decimal): number => {
  const scale = Math.max(part.scale, whole.scale);
  const all = digitsAt(whole, scale);
  return all <= 0n ? 0 : Number((digitsAt(part, scale) * 10_000n + all - 1n) / all) / 10_000;
};
