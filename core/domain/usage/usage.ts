/**
 * What a service says that it spent on models: one JSON line per turn.
 *
 * Numbers may be written as text, as programs do whose decimals JSON cannot write. A turn without a cost counts with
 * its tokens; a line with a number that makes no sense (negative, not a number, half a token) counts with nothing, and
 * is counted itself, because a sum that silently leaves something out is worse than one that says so.
 */
import { type Decimal, parseDecimal } from "./decimal.ts";

export interface Usage {
  /** Null where the line does not name one. */
  readonly model: string | null;
  readonly user: string | null;
  readonly chat: string | null;
  readonly input: bigint;
  readonly output: bigint;
  readonly cached: bigint;
  /** In US dollars; null where the line says nothing of it. */
  readonly cost: Decimal | null;
}

/** Matches the lines that are meant. */
export const USAGE_FILTER = 'jsonPayload.level="usage"';

/** A number with the digits that were written: a JavaScript number would keep seventeen of them. */
class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Of numbers, texts and truths there is always a source. */
type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Beyond fifteen digits a JavaScript number may be another than was written; within them it is read back as it was. */
const LONG_NUMBER = /[\d.]{16}/;

const keepNumbers: Reviver = (_key, value, { source }) =>
  typeof value === "number" ? new Written(source as string) : value;

/** The text of a number or of a text; empty for anything else. */
const textOf = (value: unknown): string =>
  value instanceof Written ? value.text : typeof value === "string" || typeof value === "number" ? String(value) : "";

const parseLine = (text: string): unknown =>
  LONG_NUMBER.test(text) ? JSON.parse(text, keepNumbers as Parameters<typeof JSON.parse>[1]) : JSON.parse(text);

const numberOf = (value: unknown): Decimal | undefined => {
  const text = textOf(value).trim();
  const number = parseDecimal(text);
  return number === undefined || number.digits < 0n ? undefined : number;
};

/** Absent is none; a fraction is nonsense. */
const tokensOf = (value: unknown): bigint | undefined => {
  if (value === undefined || value === null) return 0n;
  const number = numberOf(value);
  if (number === undefined) return undefined;
  const unit = 10n ** BigInt(number.scale);
  return number.digits % unit === 0n ? number.digits / unit : undefined;
};

const nameOf = (value: unknown): string | null => textOf(value) || null;

/** The usage that a log entry's message says; undefined where it is not a usage line, or makes no sense. */
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
