/** Nothing leaves an account's process, and nothing in it affects the control plane. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { SqlResponse } from "../../../../core/domain/sql/answer.ts";
import type { ControlPlaneError } from "../../../../core/errors.ts";
import type { Result } from "../../../../core/result.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { hostileStatements } from "../../../support/sql/hostile-sql.ts";

let platform: TestPlatform;
const owner = "acme" as AccountId;

beforeAll(async () => {
  platform = await startLocal();
  const line = (n: number) =>
    ({ owner, service: "app" as never, severity: "INFO", logName: "stdout", text: `x${n}` }) as const;
  const appended = await platform.local.provider.logs.append(Array.from({ length: 2000 }, (_, n) => line(n)));
  expect(appended.isOk()).toBe(true);
});
afterAll(() => platform[Symbol.asyncDispose]());

const ask = async (query: string): Promise<Result<SqlResponse, ControlPlaneError>> =>
  platform.controlPlane.runSql({ account: owner, credentialId: "test" }, { query });

const works = async () => expect((await ask("SELECT COUNT(*) AS n FROM logs"))._unsafeUnwrap().rows).toEqual([[2000]]);

describe.each(Object.entries(hostileStatements))("%s", (_name, statements) => {
  test.each(statements)("%j", async (statement) => {
    const answer = await ask(statement);
    expect(answer.isErr()).toBe(true);
    const error = answer._unsafeUnwrapErr();
    expect(error.kind).toBe("invalid_input");
    // Errors may quote the statement, but not name the implementation.
    if (!/duckdb|sqlite/.test(statement)) expect(error.message).not.toMatch(/duckdb|polyglot|sqlite/i);
  });
});

test("a refusal names the problem and its position", async () => {
  const error = (
    await ask("SELECT COUNT(*) AS n\nFROM entries JOIN logs USING (x)\nWHERE sleep_ms(3)")
  )._unsafeUnwrapErr();
  expect(error.message).toContain("unknown table 'entries' at line 2, column 6");
  expect(error.message).toContain("SLEEP_MS at line 3, column 7");
});

/**
 * Measures how long some work blocks the event loop in total, and how much memory it adds. Excludes other load on the
 * machine while the loop waits.
 */
const watch = () => {
  // Counts CPU time, because on a busy machine even an idle loop seems busy.
  const [memory, cpu] = [process.memoryUsage.rss(), process.threadCpuUsage()];
  return () => ({
    busyMillis: (({ user, system }) => (user + system) / 1000)(process.threadCpuUsage(cpu)),
    grown: process.memoryUsage.rss() - memory,
  });
};

const doubled = (times: number) =>
  Array.from({ length: times }).reduce<string>((text) => `CONCAT(${text}, ${text})`, "text_payload");
const grown = (times: number) =>
  Array.from({ length: times }).reduce<string>(
    (text) => `REPLACE(${text}, 'x', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')`,
    "'x'",
  );

const heavy: Readonly<Record<string, string>> = {
  "a text of gigabytes": `SELECT LENGTH(REPLACE(${grown(4)}, 'x', '${"x".repeat(1000)}')) AS n`,
  "the same by doubling": `SELECT LENGTH(${doubled(9)}) AS n FROM logs LIMIT 1`,
  "texts of gigabytes in every row": `SELECT SUM(LENGTH(REPLACE(text_payload, 'x', ${grown(4)}))) AS n FROM logs`,
  "an array of everything squared":
    "SELECT ARRAY_AGG(a.text_payload || b.text_payload) AS l FROM logs a CROSS JOIN logs b CROSS JOIN logs c",
  "a repetition": "SELECT repeat('x', 2000000000) AS x",
};

test.each(Object.entries(heavy))(
  "%s: the control plane stays responsive, and the next query works",
  async (_name, statement) => {
    await works();
    const ended = watch();
    const answer = await ask(statement);
    const { busyMillis, grown: more } = ended();
    if (answer.isErr()) expect(answer.error.kind).toBe("invalid_input");
    // The account's process grows by a gigabyte; this one must not.
    expect(more).toBeLessThan(200 * 1024 * 1024);
    // So no caller waits longer than this.
    expect(busyMillis).toBeLessThan(2000);
    await works();
  },
);

/** Each level doubles the type of the previous one. */
const nestedStructs = (depth: number) => {
  const levels = Array.from({ length: depth }, (_, n) => `a${n + 1} AS (SELECT STRUCT(s AS x,s AS y) AS s FROM a${n})`);
  return `WITH ${["a0 AS (SELECT STRUCT(1 AS x,2 AS y) AS s)", ...levels].join(", ")} SELECT s FROM a${depth}`;
};

test("the next query works after statements that exhaust a process's memory", async () => {
  for (const depth of [16, 17, 20]) {
    const error = (await ask(nestedStructs(depth)))._unsafeUnwrapErr();
    expect(error).toMatchObject({ kind: "invalid_input" });
    expect(error.message).not.toMatch(/WASM|unreachable/);
    expect((await ask("SELECT 1 AS a"))._unsafeUnwrap().rows).toEqual([[1]]);
  }
});

test("refuses a statement that is nested too deeply, and the next one works", async () => {
  const deep: readonly (readonly [string, string])[] = [
    [`SELECT ${"(".repeat(400)}1${")".repeat(400)} AS a`, "nested deeper than the limit of 32 levels"],
    [`SELECT ${Array(5000).fill("1").join("+")} AS a`, "nested deeper than the limit of 512 levels"],
    [`SELECT CONCAT(${Array(3000).fill("'a'").join(",")}) AS a`, "too long or nested too deeply for the parser"],
  ];
  for (const [statement, words] of deep) {
    const error = (await ask(statement))._unsafeUnwrapErr();
    expect(error).toMatchObject({ kind: "invalid_input", message: expect.stringContaining(words) });
    expect(error.message).not.toMatch(/WASM|E_GUARD|call stack|line 0/);
    expect((await ask("SELECT 1 AS a"))._unsafeUnwrap().rows).toEqual([[1]]);
  }
});

test("ends a cross join of a million squared at its deadline", async () => {
  await works();
  const ended = watch();
  const { sql } = platform.local.provider;
  const cross = "SELECT COUNT(*) AS n FROM logs a CROSS JOIN logs b CROSS JOIN logs c CROSS JOIN logs d";
  const run = await sql.run({ owner }, cross, { timeoutMs: 2000, rows: 10, bytes: 1000 });
  expect(run._unsafeUnwrapErr()).toEqual({ kind: "timeout" });
  expect(ended().grown).toBeLessThan(200 * 1024 * 1024);
  await works();
});
