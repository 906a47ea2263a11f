/**
 * Classifies Athena's errors by category, type, and the error name at the start of the message:
 * https://docs.aws.amazon.com/athena/latest/ug/error-reference.html,
 * https://github.com/trinodb/trino/blob/master/core/trino-spi/src/main/java/io/trino/spi/StandardErrorCode.java. The
 * tables contain the rows of all accounts, so a message about a data error states its kind but quotes no value.
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

/** Data errors, by the error name at the start of the message. */
const dataErrors: Readonly<Record<string, string>> = {
  DIVISION_BY_ZERO: "division by zero",
  INVALID_CAST_ARGUMENT: "a string cannot be cast to the type",
  NUMERIC_VALUE_OUT_OF_RANGE: "a number is too large for its type",
  INVALID_FUNCTION_ARGUMENT: "a function does not accept an argument",
  INVALID_LITERAL: "a string is not a value of the type",
  SUBQUERY_MULTIPLE_ROWS: "a scalar subquery returned more than one row",
  EXCEEDED_MEMORY_LIMIT: "the query exceeded its memory limit; read fewer rows, or aggregate earlier",
  EXCEEDED_LOCAL_MEMORY_LIMIT: "the query exceeded its memory limit; read fewer rows, or aggregate earlier",
  HIVE_BAD_DATA: "a row of the log is not readable",
};

const nameOf = (message: string): string => /^([A-Z][A-Z0-9_]+):/.exec(message)?.[1] ?? "";

/** Removes positions, which refer to the translated statement, and internal names of the platform and the engine. */
const withoutInternals = (message: string, hidden: readonly string[]): string => {
  const bare = message
    .replace(/^[A-Z][A-Z0-9_]+:\s*/, "")
    .replace(/^line \d+:\d+:\s*/, "")
    .replace(/ or requester is not authorized.*$/s, "")
    .replace(/\n.*$/s, "");
  const shown = hidden.reduce((text, name) => text.replaceAll(name, "the table"), bare);
  return shown.replace(/\b(?:Athena|Trino|Presto|Hive|Glue)\b/gi, "the engine").trim();
};

export const MEMORY = failed("the query exceeded its memory limit; read fewer rows, or aggregate earlier");

/** @param hasRun whether the query may have read rows; until then, an error message can quote only the statement */
export const failureOf = (
  { State, StateChangeReason = "", AthenaError = {} }: AthenaStatus,
  hidden: readonly string[],
  hasRun: boolean,
): Failed => {
  const { ErrorCategory: category, ErrorType: type = 1000, ErrorMessage: message = StateChangeReason } = AthenaError;
  // Portside did not cancel this query. Therefore, the query reached the workgroup's limit on scanned bytes.
  if (State === "CANCELLED")
    return failed(
      "every query reads the whole log, which now exceeds the platform's byte limit; the operator can raise the limit (SqlMostBytes)",
    );
  if (isExhausted(type)) return MEMORY;
  if (timeouts.has(type)) return { kind: "timeout" };
  if (category === SYSTEM) return unavailable("The platform's SQL engine failed. Try again.", 5, message);
  const dataError = dataErrors[nameOf(message)];
  if (dataError !== undefined) return failed(dataError);
  return hasRun
    ? failed("the query failed on a value in its data")
    : invalid(withoutInternals(message, hidden) || "the statement cannot run");
};
