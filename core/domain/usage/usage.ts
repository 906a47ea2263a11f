/**
 * Parses usage lines, in which a service reports its spending on models: one JSON line per turn.
 *
 * Numbers may be text, because some programs write decimals as strings to keep all digits. The tokens of a turn count
 * even if the line has no cost. Sums omit lines with an invalid number (negative, not a number, a fraction of a token).
 * Callers report the number of omitted lines.
 */
import { type Decimal, parseDecimal } from "./decimal.ts";

export interface Usage {
  /** Null if the line does not name a model. */
  readonly model: string | null;
  readonly user: string | null;
  readonly chat: string | null;
  readonly input: bigint;
  readonly output: bigint;
  readonly cached: bigint;
  /** US dollars; null if the line has no cost. */
  readonly cost: Decimal | null;
}

/** The log filter for usage lines. */
export const USAGE_FILTER = 'jsonPayload.level="usage"';

/** A number with its original digits. A JavaScript number preserves only 15 digits. */
class ExactNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** `source` is present for numbers, strings and booleans. */
type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** JavaScript numbers preserve up to 15 digits exactly. Longer numbers may change. */
const LONG_NUMBER = /[\d.]{16}/;

const keepNumbers: Reviver = (_key, value, { source }) =>
  typeof value === "number" ? new ExactNumber(source as string) : value;

/** Returns the text of a number or string; empty for other values. */
const textOf = (value: unknown): string =>
  value instanceof ExactNumber
    ? value.text
    : typeof value === "string" || typeof value === "number"
      ? String(value)
      : "";

const parseLine = (text: string): unknown =>
  LONG_NUMBER.test(text) ? JSON.parse(text, keepNumbers as Parameters<typeof JSON.parse>[1]) : JSON.parse(text);

const numberOf = (value: unknown): Decimal | undefined => {
  const text = textOf(value).trim();
  const number = parseDecimal(text);
  return number === undefined || number.digits < 0n ? undefined : number;
};

/** Parses a token count. Absent means 0; a fraction is invalid (undefined). */
const tokensOf = (value: unknown): bigint | undefined => {
  if (value === undefined || value === null) return 0n;
  const number = numberOf(value);
  if (number === undefined) return undefined;
  const unit = 10n ** BigInt(number.scale);
  return number.digits % unit === 0n ? number.digits / unit : undefined;
};

const nameOf = (value: unknown): string | null => textOf(value) || null;

/** Parses the usage in a log entry's message. Returns undefined if it is not a usage line or has an invalid number. */
export const readUsage = (message: string): Usage | undefined => {
  let line: unknown;
  try {
    line = parseLine(message);
  } catch {
    return undefined;
  }
  if (typeof line !== "object" || line === null) return undefined;
  const { level, model, user_id, chat_id, input, output, cached, cost } = line as Readonly<Record<string, unknown>>;
  if (level !== "usage") return undefined;
  const [read, written, kept] = [tokensOf(input), tokensOf(output), tokensOf(cached)];
  const price = cost === undefined || cost === null ? null : numberOf(cost);
  if (read === undefined || written === undefined || kept === undefined || price === undefined) return undefined;
  return {
    model: nameOf(model),
    user: nameOf(user_id),
    chat: nameOf(chat_id),
    input: read,
    output: written,
    cached: kept,
    cost: price,
  };
};
