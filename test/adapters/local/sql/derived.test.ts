/** The SQL database is derived from the log: whatever happens to it, queries see the current log. */
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { allProcesses, treeOf } from "../../../../adapters/local/instances/proc.ts";
import { createLocalSql } from "../../../../adapters/local/sql/engine.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { ProcessSqlEngine } from "../../../../adapters/shared/sql/process/engine.ts";
import { noBilling } from "../../../../adapters/shared/sql/tables/billing.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { argumentsOf } from "../../../support/http/serve-child.ts";
import { WrittenLogs } from "../../../support/logs/written-logs.ts";
import { recorder } from "../../../support/providers/memory-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const owner = "acme" as AccountId;
const IDLE_MS = 300;
/** https://duckdb.org/docs/stable/internals/storage: one header of the file and two of the database. */
const HEADERS = 3 * 4096;
let folder: string;
let logs: WrittenLogs;
let sql: ProcessSqlEngine;

const open = (idleMillis = 60_000): void => {
  const { logger } = recorder();
  logs = new WrittenLogs({ folder, clock: createSystemClock(), logger, retentionDays: 30, maxBytes: 2 ** 30 });
  sql = createLocalSql({ folder: join(folder, "sql"), logs, billing: noBilling, idleMillis, maxProcesses: 2 });
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-derived-"));
  open();
});
afterEach(async () => {
  await sql.close();
  await logs.close();
  rmSync(folder, { recursive: true, force: true });
});

const log = async (count: number, service = "app", account = owner): Promise<void> => {
  const line = (n: number) =>
    ({
      owner: account,
      service: service as DeploymentName,
      severity: "INFO",
      logName: "stdout",
      text: `${n}`,
    }) as const;
  expect((await logs.append(Array.from({ length: count }, (_, n) => line(n)))).isOk()).toBe(true);
};

const rows = async (statement: string, account = owner) => {
  const run = await sql.run({ owner: account }, statement, { timeoutMs: 60_000, rows: 100, bytes: 100_000 });
  return run.isErr() ? run.error : Array.fromAsync(run.value.rows);
};
const count = (account = owner) => rows("SELECT COUNT(*) AS n FROM logs", account);
const database = () => join(folder, "sql", accountDigest(owner), "logs.duckdb");

test("every thread of a query runs at a lower priority", async () => {
  await log(1);
  await count();
  const [child] = treeOf(process.pid, allProcesses()).filter((pid) => argumentsOf(pid).includes(database()));
  const threads = readdirSync(`/proc/${child}/task`).map(Number);
  const lower = Math.min(19, getPriority() + 5);
  expect(new Set(threads.map((thread) => getPriority(thread)))).toEqual(new Set([lower]));
  // Absent if the kernel has no autogroups.
  const session = `/proc/${child}/autogroup`;
  if (!existsSync(session)) return;
  await eventually(() => expect(readFileSync(session, "utf8")).toMatch(new RegExp(`nice ${lower}$`, "m")));
});

test("omits entries and services that were removed from the log", async () => {
  await log(10);
  await log(5, "bot");
  expect(await count()).toEqual([[15]]);
  using file = new DatabaseSync(logs.pathOf(owner), { timeout: 5000 });
  file.exec("DELETE FROM entries WHERE service = 'app' AND text < '4'");
  expect(await rows("SELECT MIN(text_payload) AS t, COUNT(*) AS n FROM logs")).toEqual([["0", 11]]);
  file.exec("DELETE FROM entries WHERE service = 'bot'");
  expect(await rows("SELECT MIN(text_payload) AS t, COUNT(*) AS n FROM logs")).toEqual([["4", 6]]);
  await sql.restart();
  await log(1, "bot");
  expect(await count()).toEqual([[7]]);
});

test("counts every entry once, whatever happens to the database between two processes", async () => {
  await log(5000);
  expect(await count()).toEqual([[5000]]);
  const fates: readonly (() => void)[] = [
    () => undefined,
    () => rmSync(join(folder, "sql"), { recursive: true }),
    () => writeFileSync(database(), "this is no database"),
    () => truncateSync(database(), 0),
    () => truncateSync(database(), Math.floor(statSync(database()).size / 2)),
  ];
  for (const [index, befall] of fates.entries()) {
    await sql.restart();
    rmSync(`${database()}.wal`, { force: true });
    befall();
    await log(1);
    expect(await count()).toEqual([[5001 + index]]);
  }
  const kept = readdirSync(join(folder, "sql")).filter((name) => name !== "compiled");
  expect(kept).toEqual([accountDigest(owner)]);
  expect(statSync(join(folder, "sql", accountDigest(owner))).mode & 0o077).toBe(0);
});

test("damage that appears only when it is read fails one query, and the next one works", async () => {
  await log(50_000);
  expect(await count()).toEqual([[50_000]]);
  await sql.restart();
  // Everything after the headers, which are read at the start.
  const { size } = statSync(database());
  const file = openSync(database(), "r+");
  writeSync(file, Buffer.alloc(size - HEADERS, 0xa5), 0, size - HEADERS, HEADERS);
  closeSync(file);
  const texts = "SELECT COUNT(DISTINCT text_payload) AS n FROM logs";
  const first = await rows(texts);
  if (!Array.isArray(first)) expect(first).toMatchObject({ kind: "unavailable" });
  expect(await rows(texts)).toEqual([[50_000]]);
});

test("a process that is killed from outside fails at most its query", async () => {
  await log(5);
  await count();
  const [pid] = await sql.pids();
  process.kill(pid as number, "SIGKILL");
  await eventually(async () => expect(await count()).toEqual([[5]]));
});

test("an idle process ends, and the next query starts another one", async () => {
  await sql.close();
  await logs.close();
  open(IDLE_MS);
  await log(2);
  expect(await count()).toEqual([[2]]);
  const [pid] = await sql.pids();
  await eventually(async () => {
    expect(await sql.pids()).toEqual([]);
    expect(existsSync(`/proc/${pid}`)).toBe(false);
  });
  expect(await count()).toEqual([[2]]);
});

test("the process that has been idle the longest is replaced first", async () => {
  const [first, second, third] = ["a", "b", "c"].map((name) => name as AccountId) as [AccountId, AccountId, AccountId];
  for (const account of [first, second]) expect(await count(account)).toEqual([[0]]);
  const before = await sql.pids();
  expect(await count(first)).toEqual([[0]]);
  expect(await count(third)).toEqual([[0]]);
  const after = await sql.pids();
  expect(after).toHaveLength(2);
  // The second process had been idle the longest, because the first one had run a later query.
  expect(before.filter((pid) => !after.includes(pid))).toEqual([before[1]]);
});

/** Runs until its deadline. */
const endless = "SELECT COUNT(*) AS n FROM logs a CROSS JOIN logs b CROSS JOIN logs c CROSS JOIN logs d";
/** Resolves when each account has a busy process. The queries end with the client. */
const occupy = async (...accounts: readonly AccountId[]) => {
  for (const account of accounts) {
    await log(2000, "app", account);
    await count(account);
  }
  const client = new AbortController();
  const limits = { timeoutMs: 60_000, rows: 10, bytes: 1000 };
  const ran = accounts.map((one) => sql.run({ owner: one }, endless, limits, client));
  return { ran, client };
};

test("queries of one account run one after the other, and do not delay others", async () => {
  await log(2000);
  await count();
  const running = sql.run({ owner }, endless, { timeoutMs: 3000, rows: 10, bytes: 1000 });
  const waiting = Promise.all([count(), count()]);
  expect(await count("other" as AccountId)).toEqual([[0]]);
  expect((await running)._unsafeUnwrapErr()).toEqual({ kind: "timeout" });
  expect(await waiting).toEqual([[[2000]], [[2000]]]);
});

test("accounts wait round-robin while all processes are busy", async () => {
  const [first, second, greedy, modest] = ["a", "b", "c", "d"].map((name) => name as AccountId) as AccountId[] as [
    AccountId,
    AccountId,
    AccountId,
    AccountId,
  ];
  await occupy(first);
  const held = await occupy(second);
  const order: string[] = [];
  const ask = async (account: AccountId) => {
    expect(await count(account)).toEqual([[0]]);
    order.push(account);
  };
  const asked = [greedy, greedy, greedy, modest].map(ask);
  held.client.abort();
  for (const one of held.ran) expect((await one).isErr()).toBe(true);
  await Promise.all(asked);
  expect(order).toEqual([greedy, modest, greedy, greedy]);
  expect(await sql.pids()).toHaveLength(2);
});

test("a wait ends at its deadline, with its client and with the engine, and leaves nothing", async () => {
  const { ran } = await occupy("a" as AccountId, "b" as AccountId);
  const limits = { timeoutMs: 100, rows: 10, bytes: 1000 };
  const overdue = await sql.run({ owner }, "SELECT 1 AS n", limits);
  expect(overdue._unsafeUnwrapErr()).toMatchObject({
    kind: "unavailable",
    message: "No SQL process became free within 0.1 s, because other queries are running. Try again.",
  });
  const client = new AbortController();
  const gone = sql.describe({ owner }, "SELECT 1 AS n", { signal: client.signal });
  client.abort();
  expect((await gone)._unsafeUnwrapErr().kind).toBe("unavailable");
  const last = sql.describe({ owner }, "SELECT 1 AS n");
  await sql.close();
  expect((await last)._unsafeUnwrapErr().kind).toBe("unavailable");
  for (const one of ran) expect((await one).isErr()).toBe(true);
  expect(await sql.pids()).toEqual([]);
});
