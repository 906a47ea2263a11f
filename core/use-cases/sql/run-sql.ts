/** SQL over an account's logs and billing. */
import type { Principal } from "../../domain/accounts/account.ts";
import { type SqlLimits, sqlLimits } from "../../domain/accounts/limits.ts";
import type { SqlAnswer, SqlValue } from "../../domain/sql/answer.ts";
import { columnProblems, statementProblems } from "../../domain/sql/statement.ts";
import { refusal } from "../../domain/wire/capabilities.ts";
import { parseFields } from "../../domain/wire/fields.ts";
import { issue } from "../../domain/wire/issue.ts";
import { sqlFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, invalidInput, rateLimited, type Unavailable } from "../../errors.ts";
import { isSqlFailure, type SqlFailure, type SqlRows } from "../../ports/sql-engine.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type Result, type ResultAsync } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import type { Raw } from "../pipeline/raw.ts";

const wordsOf = (failure: SqlFailure, limits: SqlLimits): string => {
  switch (failure.kind) {
    case "invalid_statement":
    case "failed":
      return failure.message;
    case "timeout":
      return `the query took longer than ${limits.deadline / 1000} s; look at less: WHERE timestamp > ...`;
    case "too_many_rows":
      return `the answer has more than ${limits.rows} rows; add LIMIT ${limits.rows}, or sum them up`;
    case "too_large":
      return `the answer has more than ${limits.bytes / 1024 / 1024} MiB; select fewer columns, or add LIMIT`;
  }
};

const errorOf =
  (limits: SqlLimits) =>
  (failure: SqlFailure | Unavailable): ControlPlaneError =>
    failure.kind === "unavailable"
      ? failure
      : invalidInput([issue(["query"], wordsOf(failure, limits), "value_error")]);

const collect = async ({ rows }: SqlRows): Promise<Result<(readonly SqlValue[])[], SqlFailure>> => {
  const all: (readonly SqlValue[])[] = [];
  for await (const item of rows) {
    if (isSqlFailure(item)) return err(item);
    all.push(item);
  }
  return ok(all);
};

const answer = async (
  { ports }: Context,
  { account: owner }: Principal,
  query: string,
  options: CallOptions,
): Promise<Result<SqlAnswer, ControlPlaneError>> => {
  const { sql } = ports.provider;
  const toError = errorOf(sqlLimits);
  const summary = await sql.describe({ owner }, query, options);
  if (summary.isErr()) return err(toError(summary.error));
  const problems = statementProblems(summary.value);
  if (problems.length > 0) return err(invalidInput(problems));
  const run = await sql.run({ owner }, query, sqlLimits, options);
  if (run.isErr()) return err(toError(run.error));
  const { columns } = run.value;
  const doubles = columnProblems(columns.map(({ name }) => name));
  // Whoever has rows waiting learns that nobody wants them by the end of the iteration.
  const rows = await collect(run.value);
  if (doubles.length > 0) return err(invalidInput(doubles));
  return rows.map((all) => ({ columns, rows: all })).mapErr(toError);
};

export const runSql = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<SqlAnswer, ControlPlaneError> =>
  catchBugs<SqlAnswer, ControlPlaneError>(async () => {
    const { values, issues } = parseFields(sqlFields, raw);
    if (issues.length > 0) return err(invalidInput(issues));
    const missing = refusal(context.ports.provider.capabilities.sql.queries);
    if (missing !== undefined) return err(missing);
    const { sqlAtOnce } = context.settings.accountLimits;
    if (!context.queries.isAvailable(principal.account))
      return err(rateLimited(`Your account may run ${sqlAtOnce} SQL query at a time; wait for it to end.`, 1));
    const permit = context.queries.acquire(principal.account);
    try {
      return await answer(context, principal, values.query as string, options);
    } finally {
      permit.release();
    }
  });
