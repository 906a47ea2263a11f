/** SQL on one machine: a query on a warm process, the first read of a log, and the very first query. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createLocalSql } from "../../adapters/local/sql/engine.ts";
import { readLogFile } from "../../adapters/local/sql/log-reader.ts";
import { createSystemClock } from "../../adapters/shared/runtime/system.ts";
import { openDatabase, removeDatabase } from "../../adapters/shared/sql/database.ts";
import { noBilling } from "../../adapters/shared/sql/tables/billing.ts";
import { LogSync } from "../../adapters/shared/sql/tables/catch-up.ts";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { sqlLimits } from "../../core/domain/accounts/limits.ts";
import { WrittenLogs } from "../support/logs/written-logs.ts";
import type { Bench } from "./bench.ts";
import { fill, inFolder } from "./logs-store.ts";
import { residentMegabytes } from "./processes.ts";

const owner = "acme" as AccountId;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const QUERY = "SELECT severity, COUNT(*) AS n FROM logs GROUP BY severity ORDER BY n DESC";
const MILLION = 1_000_000;
const SMALL = 20_000;

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
};

/** An engine on an account's log with `count` entries. */
const engineOver = (count: number) => {
  const { folder, remove } = inFolder();
  const logs = new WrittenLogs({
    folder,
    clock: createSystemClock(),
    logger: silent,
    retentionDays: 30,
    maxBytes: Number.MAX_SAFE_INTEGER,
  });
  if (count > 0) fill(logs.pathOf(owner), count);
  const sql = createLocalSql({ folder: join(folder, "sql"), logs, billing: noBilling });
  const ask = async (statement: string) => {
    const run = await sql.run({ owner }, statement, { ...sqlLimits, timeoutMs: 600_000 });
    if (run.isErr()) throw new Error(JSON.stringify(run.error));
  };
  const close = async () => {
    await sql.close();
    await logs.close();
    remove();
  };
  return { folder, path: logs.pathOf(owner), sql, ask, close };
};

export const sqlGroupBy: Bench = {
  name: "sql-group-by",
  title: "a GROUP BY over a million entries, warm",
  unit: "ms",
  goals: [{ peer: "bare DuckDB in the same process", at: "most", bound: 2, plus: 50 }],
  prepare: async ({ small }) => {
    const { path, folder, ask, close } = engineOver(small ? SMALL : MILLION);
    await ask(QUERY);
    const bare = await openDatabase(join(folder, "bare.duckdb"));
    using log = readLogFile(path);
    await (await LogSync.of(bare)).catchUp(log);
    return {
      subject: { name: "portside", measure: () => timed(() => ask(QUERY)) },
      peers: [{ name: "bare DuckDB in the same process", measure: () => timed(() => bare.runAndReadAll(QUERY)) }],
      [Symbol.asyncDispose]: async () => {
        bare.closeSync();
        await close();
      },
    };
  },
};

export const sqlCatchUp: Bench = {
  name: "sql-catch-up",
  title: "log entries loaded into the SQL database per second",
  unit: "entries/s",
  goals: [{ at: "least", bound: 100_000 }],
  prepare: async ({ small }) => {
    const count = small ? SMALL : MILLION / 4;
    const { path, folder, close } = engineOver(count);
    const database = join(folder, "catch-up.duckdb");
    const measure = async () => {
      removeDatabase(database);
      const connection = await openDatabase(database);
      using log = readLogFile(path);
      const readSoFar = await LogSync.of(connection);
      const millis = await timed(() => readSoFar.catchUp(log));
      connection.closeSync();
      return (count / millis) * 1000;
    };
    return { subject: { name: "catch-up", measure }, peers: [], [Symbol.asyncDispose]: close };
  },
};

const SETTLE_MS = 2000;

export const sqlIdle: Bench = {
  name: "sql-idle",
  title: "resident memory of an idle SQL process after a hundred queries",
  unit: "MB",
  goals: [{ at: "most", bound: 300 }],
  prepare: async ({ small }) => {
    const { sql, ask, close } = engineOver(SMALL);
    const measure = async () => {
      await sql.restart();
      for (let index = 0; index < (small ? 5 : 100); index++) await ask(`${QUERY} LIMIT ${index + 1}`);
      await sleep(small ? 0 : SETTLE_MS);
      const [pid] = await sql.pids();
      return residentMegabytes(pid as number);
    };
    return { subject: { name: "portside", measure }, peers: [], [Symbol.asyncDispose]: close };
  },
};

export const sqlFirst: Bench = {
  name: "sql-first",
  title: "the first query after a start, for an account without entries",
  unit: "ms",
  goals: [{ at: "most", bound: 1000 }],
  prepare: async () => {
    const { sql, ask, close } = engineOver(0);
    const measure = async () => {
      await sql.restart();
      return timed(() => ask(QUERY));
    };
    return { subject: { name: "portside", measure }, peers: [], [Symbol.asyncDispose]: close };
  },
};
