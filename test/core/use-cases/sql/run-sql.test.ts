/** SQL queries: the results of an engine, and the response to each of its errors. */
import { expect, test } from "vitest";
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import { type ControlPlaneError, unavailable } from "../../../../core/errors.ts";
import type { SqlEngine, SqlFailure, SqlRows } from "../../../../core/ports/sql-engine.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";
import { startMemory } from "../../../support/providers/memory-platform.ts";

const select: StatementSummary = {
  statements: 1,
  root: "SELECT",
  tables: [{ name: "logs" }],
  functions: [],
  tableFunctions: [],
  others: [],
  unnamed: [],
};

type Row = SqlRows["rows"] extends AsyncIterable<infer Item> ? Item : never;

/** The response of an engine with these columns, then these items. */
const answering = (names: readonly string[], ...items: readonly Row[]): SqlEngine["run"] => {
  const columns = names.map((name) => ({ name, type: "INT64" }));
  return () =>
    okAsync({
      columns,
      rows: (async function* () {
        yield* items;
      })(),
    });
};

const ask = (engine: Partial<SqlEngine>, query: unknown = "SELECT 1 AS one") => {
  const sql: SqlEngine = { describe: () => okAsync(select), run: answering(["one"], [1]), ...engine };
  const platform = startMemory({
    around: () => ({ sql }),
    capabilities: { sql: { queries: { supported: true }, lag_seconds: 0 } },
  });
  return { platform, answer: platform.controlPlane.runSql(platform.principal(), { query: query as string }) };
};

const refusal = async (engine: Partial<SqlEngine>, query?: unknown): Promise<ControlPlaneError> =>
  (await ask(engine, query).answer)._unsafeUnwrapErr();

test("a response has the engine's columns and rows", async () => {
  const { answer } = ask({ run: answering(["a", "b"], [1, null], ["x", 2]) });
  expect((await answer)._unsafeUnwrap()).toEqual({
    columns: [
      { name: "a", type: "INT64" },
      { name: "b", type: "INT64" },
    ],
    rows: [
      [1, null],
      ["x", 2],
    ],
  });
});

const words: readonly (readonly [SqlFailure, string])[] = [
  [{ kind: "invalid_statement", message: "no column 'x'" }, "no column 'x'"],
  [{ kind: "failed", message: "division by zero" }, "division by zero"],
  [{ kind: "timeout" }, "the query took longer than 30 s; narrow it with WHERE timestamp > ..."],
  [{ kind: "too_many_rows" }, "the result has more than 10000 rows; add LIMIT 10000, or aggregate the rows"],
  [{ kind: "too_large" }, "the result has more than 16 MiB; select fewer columns, or add LIMIT"],
];

test.each(words)("$kind: an error of the statement is an issue of the statement", async (failure, message) => {
  const told = { kind: "invalid_input", issues: [{ path: ["query"], message, type: "value_error" }] };
  expect(await refusal({ describe: () => errAsync(failure) })).toMatchObject(told);
  expect(await refusal({ run: () => errAsync(failure) })).toMatchObject(told);
  expect(await refusal({ run: answering(["one"], [1], failure) })).toMatchObject(told);
});

test("a busy engine is not an error of the statement", async () => {
  const busy = () => errAsync(unavailable("The engine is busy."));
  for (const engine of [{ describe: busy }, { run: busy }])
    expect(await refusal(engine)).toMatchObject({ kind: "unavailable", message: "The engine is busy." });
});

test("rejected statements do not run", async () => {
  const run: SqlEngine["run"] = () => {
    throw new Error("it ran");
  };
  const describe: SqlEngine["describe"] = () => okAsync({ ...select, root: "DELETE" });
  expect(await refusal({ describe, run })).toMatchObject({ kind: "invalid_input" });
  expect(await refusal({ run }, "")).toMatchObject({ kind: "invalid_input" });
});

test("rejects duplicate column names, but reads all rows, because that frees the engine", async () => {
  let over = false;
  const run: SqlEngine["run"] = () =>
    okAsync({
      columns: [
        { name: "a", type: "INT64" },
        { name: "A", type: "INT64" },
      ],
      rows: (async function* () {
        yield [1, 2];
        over = true;
      })(),
    });
  expect(await refusal({ run })).toMatchObject({
    issues: [{ message: "two columns of the result are named 'A'; rename one with ... AS name" }],
  });
  expect(over).toBe(true);
});

test("an account runs one query at a time, independently of other accounts", async () => {
  const gate = Promise.withResolvers<void>();
  const rows = async function* () {
    await gate.promise;
    yield [1];
  };
  const { platform, answer } = ask({ run: () => okAsync({ columns: [{ name: "one", type: "INT64" }], rows: rows() }) });
  const asked = (account?: string) => platform.controlPlane.runSql(platform.principal(account), { query: "SELECT 1" });
  expect((await asked())._unsafeUnwrapErr()).toMatchObject({
    kind: "rate_limited",
    message: "Your account has reached its limit of concurrent SQL queries (1). Wait until one ends.",
  });
  const other = asked("beta");
  gate.resolve();
  expect([(await answer).isOk(), (await other).isOk(), (await asked()).isOk()]).toEqual([true, true, true]);
});

test("fails with `unsupported` without SQL", async () => {
  const platform = startMemory({
    capabilities: { sql: { queries: { supported: false, reason: "no engine" }, lag_seconds: 0 } },
  });
  const refused = await platform.controlPlane.runSql(platform.principal(), { query: "SELECT 1 AS one" });
  expect(refused._unsafeUnwrapErr()).toMatchObject({ kind: "unsupported" });
});
