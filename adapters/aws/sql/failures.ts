/**
 * Classifies Athena errors by category, type and error name, never by message text:
 * https://docs.aws.amazon.com/athena/latest/ug/error-reference.html and
 * https://github.com/trinodb/trino/blob/master/core/trino-spi/src/main/java/io/trino/spi/StandardErrorCode.java
 * The tables hold every account's rows, so an error about data reveals its kind but no values.
 */
import { unavailable } from "../../../core/errors.ts";
import type { SqlFailure } from "../../../core/ports/sql-engine.ts";
import { type Failed, invalid } from "../../shared/sql/remote.ts";

export interface AthenaStatus {
  readonly State?: string | undefined;
  readonly StateChangeReason?: string | undefined;
  readonly AthenaError?:
    | {
        readonly ErrorCategory?: number | undefined;
        readonly ErrorType?: number | undefined;
        readonly ErrorMessage?: string | undefined;
      }
    | undefined;
}

const SYSTEM = 1;
/** "Query exhausted resources at this scale factor". */
const isExhausted = (type: number): boolean => type >= 0 && type <= 8;
const timeouts: ReadonlySet<number> = new Set([206, 210]);

const failed = (message: string): SqlFailure => ({ kind: "failed", message });

/** Errors about data, by the error name at the start of the message. */
const onData: Readonly<Record<string, string>> = {
  DIVISION_BY_ZERO: "division by zero",
  INVALID_CAST_ARGUMENT: "a text that is no such value was cast",
  NUMERIC_VALUE_OUT_OF_RANGE: "a number is too large for its type",
  INVALID_FUNCTION_ARGUMENT: "a function was given what it does not take",
  INVALID_LITERAL: "a text is no such value",
  SUBQUERY_MULTIPLE_ROWS: "a subquery has more than one row",
  EXCEEDED_MEMORY_LIMIT: "the query needs more memory than it may have; look at less, or sum up earlier",
  EXCEEDED_LOCAL_MEMORY_LIMIT: "the query needs more memory than it may have; look at less, or sum up earlier",
  HIVE_BAD_DATA: "a row of the log cannot be read",
};

const nameOf = (message: string): string => /^([A-Z][A-Z0-9_]+):/.exec(message)?.[1] ?? "";

/** Removes positions, which refer to the translated statement, and the names of the platform and the engine. */
const plain = (message: string, hidden: readonly string[]): string => {
  const bare = message
    .replace(/^[A-Z][A-Z0-9_]+:\s*/, "")
    .replace(/^line \d+:\d+:\s*/, "")
    .replace(/ or requester is not authorized.*$/s, "")
    .replace(/\n.*$/s, "");
  const shown = hidden.reduce((text, name) => text.replaceAll(name, "the table"), bare);
  return shown.replace(/\b(?:Athena|Trino|Presto|Hive|Glue)\b/gi, "the engine").trim();
};

export const MEMORY = failed("the query needs more memory than it may have; look at less, or sum up earlier");

/** @param hasRun whether rows were read; before that, a message can quote only the statement itself */
export const failureOf = (
  { State, StateChangeReason = "", AthenaError = {} }: AthenaStatus,
  hidden: readonly string[],
  hasRun: boolean,
): Failed => {
  const { ErrorCategory: category, ErrorType: type = 1000, ErrorMessage: message = StateChangeReason } = AthenaError;
  // Portside did not cancel it: the query hit the work group's limit of scanned bytes.
  if (State === "CANCELLED")
    return failed(
      "a query reads the whole log, which is more by now than this platform lets one; its operator can raise that (SqlMostBytes)",
    );
  if (isExhausted(type)) return MEMORY;
  if (timeouts.has(type)) return { kind: "timeout" };
  if (category === SYSTEM) return unavailable("The SQL engine of this platform failed; try again.", 5, message);
  const words = onData[nameOf(message)];
  if (words !== undefined) return failed(words);
  return hasRun
    ? failed("the query failed on its data")
    : invalid(plain(message, hidden) || "it is no statement that can run");
};
