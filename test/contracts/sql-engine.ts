/** The contract suite of `SqlEngine`. */
import { expect } from "vitest";
import type { NewLogEntry } from "../../core/domain/logs/entry.ts";
import type { SqlValue } from "../../core/domain/sql/answer.ts";
import { type SqlSchema, sqlTables } from "../../core/domain/sql/tables.ts";
import type { Capabilities } from "../../core/domain/wire/capabilities.ts";
import { isSqlFailure, type SqlFailure, type SqlLimits, type SqlScope } from "../../core/ports/sql-engine.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { append, line, numbers, scopeOf } from "./log-steps.ts";
import { expectError, expectOk } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

const offers = ({ sql }: Capabilities): boolean => sql.queries.supported;

const plenty: SqlLimits = { timeoutMs: 60_000, rows: 10_000, bytes: 1024 * 1024 };

interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
  readonly failure?: SqlFailure;
}

const ask = async (
  { provider }: ProviderSubject,
  scope: SqlScope,
  statement: string,
  limits: SqlLimits = plenty,
): Promise<Answer> => {
  const run = await provider.sql.run(scope, statement, limits);
  if (run.isErr()) {
    if (run.error.kind === "unavailable") throw new Error(run.error.message);
    return { columns: [], rows: [], failure: run.error };
  }
  const rows: (readonly SqlValue[])[] = [];
  const columns = run.value.columns.map(({ name, type }) => `${name} ${type}`);
  for await (const item of run.value.rows) {
    if (isSqlFailure(item)) return { columns, rows: [], failure: item };
    rows.push(item);
  }
  return { columns, rows };
};

const MAX_TRIES = 100;

/**
 * Returns the failure of a statement. Retries while the engine is unavailable: on a busy machine, a short deadline may
 * pass before the engine has read the log.
 */
const failureOf = async (
  subject: ProviderSubject,
  scope: SqlScope,
  statement: string,
  limits: SqlLimits,
): Promise<SqlFailure | undefined> => {
  for (let tries = 1; ; tries++) {
    try {
      return (await ask(subject, scope, statement, limits)).failure;
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
    }
  }
};

const rowsOf = async (subject: ProviderSubject, scope: SqlScope, statement: string) => {
  const { rows, failure } = await ask(subject, scope, statement);
  expect(failure).toBeUndefined();
  return rows;
};

const scopesWithoutLogs = new WeakMap<ProviderSubject, SqlScope>();

/**
 * Returns the scope of an account without logs. Cases share it, because an engine may start a process for each account.
 */
const emptyScope = (subject: ProviderSubject): SqlScope => {
  const scope = scopesWithoutLogs.get(subject) ?? scopeOf(subject);
  scopesWithoutLogs.set(subject, scope);
  return scope;
};

/**
 * Returns the column, or the fields of a struct: an engine may return a whole struct as JSON, so cases select fields.
 */
const fieldsOf = ({ name, type }: SqlSchema["tables"][number]["columns"][number]) => {
  const inside = /^STRUCT<(.*)>$/.exec(type)?.[1];
  if (inside === undefined) return [{ name, path: name, type }];
  return inside.split(", ").map((field) => {
    const [own = "", ownType = ""] = field.split(" ");
    return { name: `${name}_${own}`, path: `${name}.${own}`, type: ownType };
  });
};

const COUNT = "SELECT COUNT(*) AS n FROM logs";

/** The contract suite of `SqlEngine`. */
export const sqlEngineCases: readonly Case[] = [
  {
    group: "describe",
    name: "the summary names every table and function, in any clause",
    when: offers,
    run: async (subject) => {
      const statement = `WITH a AS (SELECT LOWER(severity) AS s FROM logs) SELECT s, COUNT(*) AS n FROM a
        JOIN billing ON LENGTH(s) = 1 WHERE EXISTS (SELECT ABS(1) FROM secret) GROUP BY s HAVING MAX(s) > '' ORDER BY UPPER(s)`;
      const summary = await expectOk(subject.provider.sql.describe(emptyScope(subject), statement));
      expect(summary).toMatchObject({ statements: 1, root: "SELECT", unnamed: [] });
      expect(summary.tables.map(({ name }) => name).sort()).toEqual(["billing", "logs", "secret"]);
      for (const name of ["LOWER", "COUNT", "LENGTH", "EXISTS", "ABS", "MAX", "UPPER"])
        expect(summary.functions.map((one) => one.name)).toContain(name);
      expect(summary.tables.find(({ name }) => name === "secret")).toMatchObject({ line: 2 });
    },
  },
  {
    group: "describe",
    name: "an invalid statement is an error, and the summary has the kind and number of statements",
    when: offers,
    run: async (subject) => {
      const { sql } = subject.provider;
      expect(await expectError(sql.describe(emptyScope(subject), "SELECT FROM WHERE"))).toMatchObject({
        kind: "invalid_statement",
      });
      expect((await expectOk(sql.describe(emptyScope(subject), "DELETE FROM logs WHERE TRUE"))).root).not.toBe(
        "SELECT",
      );
      expect((await expectOk(sql.describe(emptyScope(subject), "SELECT 1 AS a; SELECT 2 AS b"))).statements).toBe(2);
    },
  },
  {
    group: "schema",
    name: "every table has the published columns, in this order, with these types",
    when: offers,
    run: async (subject) => {
      for (const { name: table, columns } of sqlTables) {
        const select = async (what: string): Promise<readonly string[]> => {
          const { columns: selected, failure } = await ask(
            subject,
            emptyScope(subject),
            `SELECT ${what} FROM ${table}`,
          );
          expect(failure).toBeUndefined();
          return selected;
        };
        const all = await select("*");
        expect(all.map((column) => column.split(" ")[0])).toEqual(columns.map(({ name }) => name));
        const fields = columns.flatMap(fieldsOf);
        const types = await select(fields.map(({ name, path }) => `${path} AS ${name}`).join(", "));
        expect(types).toEqual(fields.map(({ name, type }) => `${name} ${type}`));
      }
    },
  },
  {
    group: "run",
    name: "an account without logs has empty tables",
    when: offers,
    run: async (subject) => {
      const scope = emptyScope(subject);
      expect(await ask(subject, scope, COUNT)).toEqual({ columns: ["n INT64"], rows: [[0]] });
      expect(await rowsOf(subject, scope, "SELECT COUNT(*) AS n FROM billing")).toEqual([[0]]);
    },
  },
  {
    group: "run",
    name: "entries have every column, with their values",
    when: offers,
    run: async (subject) => {
      const scope = scopeOf(subject);
      const http = { requestMethod: "GET", requestUrl: "http://x/", status: 404, latency: "0.001s" };
      const entries: NewLogEntry[] = [
        { ...line(scope, "päck"), revision: "r-1", instance: "i-1" },
        { ...scope, severity: "ERROR", logName: "stderr", json: { level: "error", nested: { n: 1 } } },
        { ...scope, severity: "WARNING", logName: "requests", http },
      ];
      await append(subject, entries);
      const columns = `severity, log_name, text_payload, json_payload, http_request,
        JSON_VALUE(resource.labels.service_name) AS service, JSON_VALUE(resource.labels.revision_name) AS revision`;
      expect(await rowsOf(subject, scope, `SELECT ${columns} FROM logs ORDER BY insert_id`)).toEqual([
        [entries[0]?.severity, "stdout", "päck", null, null, scope.service, "r-1"],
        ["ERROR", "stderr", null, { level: "error", nested: { n: 1 } }, null, scope.service, null],
        ["WARNING", "requests", null, null, http, scope.service, null],
      ]);
    },
  },
  {
    group: "run",
    name: "values have the contract's types and formats",
    when: offers,
    run: async (subject) => {
      const statement = `SELECT 9007199254740993 AS a, CAST('0.1' AS NUMERIC) + CAST('0.2' AS NUMERIC) AS b,
        CAST('nan' AS FLOAT64) AS c, TIMESTAMP '2026-01-31 09:08:07.5+00' AS d, DATE '2026-01-31' AS e, TRUE AS f,
        FROM_BASE64('YWJj') AS g, [1, 2] AS h, STRUCT('x' AS y) AS i, CAST(NULL AS STRING) AS j, PARSE_JSON('{"k":[1]}') AS k`;
      const { columns, rows } = await ask(subject, emptyScope(subject), statement);
      expect(columns.map((one) => one.split(" ")[1])).toEqual([
        "INT64",
        "NUMERIC",
        "FLOAT64",
        "TIMESTAMP",
        "DATE",
        "BOOL",
        "BYTES",
        "ARRAY<INT64>",
        "STRUCT<y",
        "STRING",
        "JSON",
      ]);
      expect(rows).toEqual([
        [
          "9007199254740993",
          "0.3",
          "NaN",
          "2026-01-31T09:08:07.500+00:00",
          "2026-01-31",
          true,
          "YWJj",
          [1, 2],
          { y: "x" },
          null,
          { k: [1] },
        ],
      ]);
    },
  },
  {
    group: "fresh",
    name: "returns entries that were just logged, each once",
    when: (capabilities) => offers(capabilities) && capabilities.sql.lag_seconds === 0,
    run: async (subject) => {
      const scope = scopeOf(subject);
      for (let n = 1; n <= 5; n++) {
        await append(
          subject,
          numbers(20).map((text) => line(scope, text)),
        );
        expect(await rowsOf(subject, scope, COUNT)).toEqual([[n * 20]]);
      }
      expect(await rowsOf(subject, scope, "SELECT COUNT(DISTINCT insert_id) AS n FROM logs")).toEqual([[100]]);
    },
  },
  {
    group: "scope",
    name: "one table contains all deployments of the account, and none of another account",
    when: offers,
    run: async (subject) => {
      const mine = scopeOf(subject);
      const sibling = { ...mine, service: subject.name() };
      const foreign = { ...mine, owner: subject.account() };
      await append(subject, [line(mine, "mine"), line(sibling, "sibling"), line(foreign, "foreign")]);
      const texts = "SELECT text_payload AS t FROM logs ORDER BY t";
      expect(await rowsOf(subject, mine, texts)).toEqual([["mine"], ["sibling"]]);
      expect(await rowsOf(subject, foreign, texts)).toEqual([["foreign"]]);
    },
  },
  {
    group: "limits",
    name: "a result beyond a limit is an error, never a partial result",
    when: offers,
    run: async (subject) => {
      const scope = scopeOf(subject);
      await append(
        subject,
        numbers(30).map((text) => line(scope, text)),
      );
      const all = "SELECT text_payload AS t FROM logs";
      expect((await ask(subject, scope, all, { ...plenty, rows: 29 })).failure).toEqual({ kind: "too_many_rows" });
      expect((await ask(subject, scope, all, { ...plenty, bytes: 50 })).failure).toEqual({ kind: "too_large" });
      expect((await ask(subject, scope, all, { ...plenty, rows: 30 })).rows).toHaveLength(30);
    },
  },
  {
    group: "limits",
    name: "a statement that exceeds its deadline fails with timeout, and the next statement works",
    when: offers,
    run: async (subject) => {
      const scope = scopeOf(subject);
      await append(
        subject,
        numbers(300).map((text) => line(scope, text)),
      );
      expect(await rowsOf(subject, scope, COUNT)).toEqual([[300]]);
      // Far more work than the deadline allows, but finite: an engine may finish it in the background.
      const long = `SELECT COUNT(*) AS n FROM logs AS a CROSS JOIN logs AS b CROSS JOIN logs AS c
        WHERE LENGTH(CONCAT(a.text_payload, b.text_payload, c.text_payload)) > 100`;
      expect(await failureOf(subject, scope, long, { ...plenty, timeoutMs: 20 })).toEqual({ kind: "timeout" });
      expect(await rowsOf(subject, scope, COUNT)).toEqual([[300]]);
    },
  },
  {
    group: "failures",
    name: "an unknown column is an invalid statement, and the message does not name the engine",
    when: offers,
    run: async (subject) => {
      const { failure } = await ask(subject, emptyScope(subject), "SELECT no_such_column FROM logs");
      expect(failure).toMatchObject({ kind: "invalid_statement", message: expect.stringContaining("no_such_column") });
      expect(JSON.stringify(failure)).not.toMatch(/duckdb|bigquery|athena|presto|trino/i);
    },
  },
  {
    group: "failures",
    name: "a statement that cannot convert a value fails, and the next statement works",
    when: offers,
    run: async (subject) => {
      const scope = scopeOf(subject);
      await append(subject, [line(scope, "no number")]);
      const { failure } = await ask(subject, scope, "SELECT CAST(text_payload AS INT64) AS n FROM logs");
      expect(failure).toMatchObject({ kind: "failed" });
      expect(await rowsOf(subject, scope, COUNT)).toEqual([[1]]);
    },
  },
];
