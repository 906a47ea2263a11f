/** SQL over an account's logs and billing. */
import type { Principal } from "../../domain/accounts/account.ts";
import { type SqlLimits, sqlLimits } from "../../domain/accounts/limits.ts";
import type { SqlResponse, SqlValue } from "../../domain/sql/answer.ts";
import { columnProblems, statementProblems } from "../../domain/sql/statement.ts";
import { issue } from "../../domain/wire/issue.ts";
import { sqlFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, invalidInput, rateLimited, type Unavailable } from "../../errors.ts";
import { isSqlFailure, type SqlFailure, type SqlRows } from "../../ports/sql-engine.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type Result } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import { useCase } from "../pipeline/use-case.ts";

const formatFailure = (failure: SqlFailure, limits: SqlLimits): string => {
  switch (failure.kind) {
    case "invalid_statement":
    case "failed":
      return failure.message;
    case "timeout":
      return `the query took longer than ${limits.deadline / 1000} s; narrow it with WHERE timestamp > ...`;
    case "too_many_rows":
      return `the answer has more than ${limits.rows} rows; add LIMIT ${limits.rows}, or aggregate them`;
    case "too_large":
      return `the answer has more than ${limits.bytes / 1024 / 1024} MiB; select fewer columns, or add LIMIT`;
  }
};

const errorOf = (failure: SqlFailure | Unavailable): ControlPlaneError =>
  failure.kind === "unavailable"
    ? failure
    : invalidInput([issue(["query"], formatFailure(failure, sqlLimits), "value_error")]);

const collect = async ({ rows }: SqlRows): Promise<Result<(readonly SqlValue[])[], SqlFailure>> => {
  const all: (readonly SqlValue[])[] = [];
  for await (const item of rows) {
    if (isSqlFailure(item)) return err(item);
    all.push(item);
  }
  return ok(all);
};

const query = async (
  { ports }: Context,
  { account: owner }: Principal,
  statement: string,
  options: CallOptions,
): Promise<Result<SqlResponse, ControlPlaneError>> => {
  const { sql } = ports.provider;
  const summary = await sql.describe({ owner }, statement, options);
  if (summary.isErr()) return err(errorOf(summary.error));
  const problems = statementProblems(summary.value);
  if (problems.length > 0) return err(invalidInput(problems));
  const run = await sql.run({ owner }, statement, sqlLimits, options);
  if (run.isErr()) return err(errorOf(run.error));
  const { columns } = run.value;
  const duplicates = columnProblems(columns.map(({ name }) => name));
  // Iterate even if the rows are not needed: the end of the iteration frees the engine.
  const rows = await collect(run.value);
  if (duplicates.length > 0) return err(invalidInput(duplicates));
  return rows.map((all) => ({ columns, rows: all })).mapErr(errorOf);
};

export const runSql = useCase({
  fields: sqlFields,
  requires: (capabilities) => capabilities.sql.queries,
  run: async ({ context, principal, input, options }): Promise<Result<SqlResponse, ControlPlaneError>> => {
    const { sqlAtOnce } = context.settings.accountLimits;
    if (!context.queries.isAvailable(principal.account))
      return err(rateLimited(`Your account may run ${sqlAtOnce} SQL query at a time; wait for it to end.`, 1));
    const permit = context.queries.acquire(principal.account);
    try {
      return await query(context, principal, input.query, options);
    } finally {
      permit.release();
    }
  },
});
