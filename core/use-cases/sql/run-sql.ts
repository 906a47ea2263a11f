/** Runs SQL queries on an account's logs and billing. */
import { sqlLimits } from "../../domain/accounts/limits.ts";
import type { SqlResponse, SqlValue } from "../../domain/sql/answer.ts";
import { columnProblems, statementProblems } from "../../domain/sql/statement.ts";
import { issue } from "../../domain/wire/issue.ts";
import { sqlFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, invalidInput, rateLimited, type Unavailable } from "../../errors.ts";
import { isSqlFailure, type SqlFailure, type SqlRows } from "../../ports/sql-engine.ts";
import { err, ok, type Result, safeTry } from "../../result.ts";
import { type Caller, useCase } from "../pipeline/use-case.ts";

const formatFailure = (failure: SqlFailure): string => {
  switch (failure.kind) {
    case "invalid_statement":
    case "failed":
      return failure.message;
    case "timeout":
      return `the query took longer than ${sqlLimits.timeoutMs / 1000} s; narrow it with WHERE timestamp > ...`;
    case "too_many_rows":
      return `the result has more than ${sqlLimits.rows} rows; add LIMIT ${sqlLimits.rows}, or aggregate the rows`;
    case "too_large":
      return `the result has more than ${sqlLimits.bytes / 1024 / 1024} MiB; select fewer columns, or add LIMIT`;
  }
};

const errorOf = (failure: SqlFailure | Unavailable): ControlPlaneError =>
  failure.kind === "unavailable" ? failure : invalidInput([issue(["query"], formatFailure(failure), "value_error")]);

/** Reads the rows of a result to its end. Fails if the statement failed. */
export const collectRows = async ({ rows }: SqlRows): Promise<Result<(readonly SqlValue[])[], SqlFailure>> => {
  const all: (readonly SqlValue[])[] = [];
  for await (const item of rows) {
    if (isSqlFailure(item)) return err(item);
    all.push(item);
  }
  return ok(all);
};

const query = ({ context, principal: { account: owner }, options }: Caller, statement: string) =>
  safeTry(async function* () {
    const { sql } = context.ports.provider;
    const summary = yield* await sql.describe({ owner }, statement, options).mapErr(errorOf);
    const problems = statementProblems(summary);
    if (problems.length > 0) return err(invalidInput(problems));
    const result = yield* await sql.run({ owner }, statement, sqlLimits, options).mapErr(errorOf);
    // Iterate even if the rows are not needed, because the end of the iteration frees the engine.
    const rows = await collectRows(result);
    const duplicates = columnProblems(result.columns.map(({ name }) => name));
    if (duplicates.length > 0) return err(invalidInput(duplicates));
    return rows.map((all): SqlResponse => ({ columns: result.columns, rows: all })).mapErr(errorOf);
  });

/** Runs `work` as one of the account's concurrent queries. Fails with `rate_limited` at the account's limit. */
export const asQuery = async <T>(
  { context: { queries, settings }, principal: { account } }: Caller,
  work: () => PromiseLike<Result<T, ControlPlaneError>>,
): Promise<Result<T, ControlPlaneError>> => {
  const { sqlAtOnce } = settings.accountLimits;
  const refused = rateLimited(
    `Your account has reached its limit of concurrent SQL queries (${sqlAtOnce}). Wait until one ends.`,
    1,
  );
  return (await queries.runIfAvailable(account, work)) ?? err(refused);
};

export const runSql = useCase({
  fields: sqlFields,
  requires: (capabilities) => capabilities.sql.queries,
  run: (call) => asQuery<SqlResponse>(call, () => query(call, call.input.query)),
});
