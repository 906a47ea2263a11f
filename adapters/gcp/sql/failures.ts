/**
 * Classifies BigQuery's errors by reason (https://cloud.google.com/bigquery/docs/error-messages); the message only
 * selects the wording. The tables hold every account's rows, so the client learns the kind and position of a data
 * error, but no value.
 */
import { GiB } from "../../../core/domain/accounts/limits.ts";
import type { SqlFailure } from "../../../core/ports/sql-engine.ts";
import type { CallFault } from "../../cloud/calls/faults.ts";
import { googleFault } from "../errors.ts";

interface Reason {
  readonly reason?: string;
  readonly message?: string;
}

export const reasonOf = (error: unknown): Reason | undefined => (error as { errors?: readonly Reason[] }).errors?.[0];

const busy: ReadonlySet<string> = new Set([
  ...["backendError", "internalError", "jobBackendError", "jobInternalError", "rateLimitExceeded"],
  ...["jobRateLimitExceeded", "quotaExceeded", "tableUnavailable", "blocked"],
]);

/** Reasons that concern the statement, even though some of these errors have the HTTP status 403 or 500. */
const ofStatement: ReadonlySet<string> = new Set([
  ...["invalidQuery", "invalid", "bytesBilledLimitExceeded", "billingTierLimitExceeded", "responseTooLarge"],
  ...["resourcesExceeded", "timeout", "stopped", "badRequest"],
]);

export const bigQueryFault = (error: unknown): CallFault | undefined => {
  const reason = reasonOf(error)?.reason;
  if (reason !== undefined && busy.has(reason)) return { kind: "busy" };
  if (reason !== undefined && ofStatement.has(reason)) return { kind: "state", code: "invalid" };
  return googleFault(error);
};

const inGiB = (bytes: number): string => `${Math.round((bytes / GiB) * 100) / 100} GiB`;

/** @param bytes the bytes that the query would read, as BigQuery estimates them; undefined if unknown */
export const tooMuchToRead = (maxBytes: number, bytes?: number): SqlFailure => ({
  kind: "failed",
  message:
    `the query would read ${bytes === undefined ? "" : `${inGiB(bytes)}, `}more than the limit of ${inGiB(maxBytes)}; ` +
    "bound the time, for example with WHERE timestamp > TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL 1 DAY)",
});

/** Converts line numbers to those of the client's statement: `composeStatement` prepends one line. */
const withClientLines = (message: string): string =>
  message.replace(/\[(\d+):(\d+)\]/g, (_all, line: string, column: string) => `[${Number(line) - 1}:${column}]`);

/** Replaces the names of the platform's tables and of the engine. */
const withoutNames = (message: string, hidden: readonly string[]): string =>
  hidden.reduce((text, name) => text.replaceAll(name, "the table"), message).replace(/\bBigQuery\b/gi, "the engine");

/** For a statement that did not run. BigQuery's message then contains only the client's own text and column names. */
export const textFailure = (message: string, hidden: readonly string[]): SqlFailure => ({
  kind: "invalid_statement",
  message: withClientLines(withoutNames(message, hidden)),
});

const kinds: readonly (readonly [RegExp, string])[] = [
  [/division by zero/i, "division by zero"],
  [/bad (\w+) value/i, "a string cannot be cast to the type"],
  [/overflow/i, "a number is too large for its type"],
  [/invalid (date|timestamp|time)|parse_|could not parse/i, "a string is not a date or time"],
  [/json/i, "a string is not JSON, or a JSON value has a different type"],
  [/array index|out of bounds/i, "an array index is out of bounds"],
  [/scalar subquery/i, "a scalar subquery returned more than one row"],
];

/** Determines why a statement failed while running. */
export const runFailure = ({ reason = "", message = "" }: Reason, maxBytes: number): SqlFailure => {
  switch (reason) {
    case "timeout":
    case "stopped":
      return { kind: "timeout" };
    case "responseTooLarge":
      return { kind: "too_large" };
    case "bytesBilledLimitExceeded":
    case "billingTierLimitExceeded":
      return tooMuchToRead(maxBytes);
    case "resourcesExceeded":
      return {
        kind: "failed",
        message: "the query exceeded its memory limit; read fewer rows, or aggregate earlier",
      };
    default: {
      const text = kinds.find(([pattern]) => pattern.test(message))?.[1] ?? "the query failed on a value in its data";
      const position = /\[\d+:\d+\]/.exec(message)?.[0];
      return { kind: "failed", message: position === undefined ? text : withClientLines(`${text} at ${position}`) };
    }
  }
};
