/**
 * The local SqlEngine. Runs the SQL of each account in a separate process, on a database that is derived from the
 * account's log file.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { packagedScript } from "../../shared/runtime/packaged-script.ts";
import { ProcessSqlEngine } from "../../shared/sql/process/engine.ts";
import type { BillingSource } from "../../shared/sql/tables/billing.ts";
import type { LocalLogs } from "../logs/log-store.ts";

/** Maximum number of processes. At the maximum, a new process replaces an idle one. */
const MAX_PROCESSES = 4;
const IDLE_MS = 5 * 60_000;

const script = packagedScript(import.meta.url, "adapters/local/sql/engine", "adapters/local/sql/child");

export interface LocalSqlConfig {
  /** Contains one folder per account. */
  readonly folder: string;
  readonly logs: LocalLogs;
  readonly billing: BillingSource;
  readonly idleMillis?: number;
  /** Maximum number of processes. */
  readonly maxProcesses?: number;
}

export const createLocalSql = (config: LocalSqlConfig): ProcessSqlEngine => {
  const { folder, logs, billing, idleMillis = IDLE_MS, maxProcesses = MAX_PROCESSES } = config;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return new ProcessSqlEngine({
    script,
    argsOf: (owner) => [join(folder, accountDigest(owner), "logs.duckdb"), logs.pathOf(owner)],
    maxProcesses,
    idleMillis,
    compiled: join(folder, "compiled"),
    beforeRun: (owner) => logs.writeAll(owner),
    billing,
    // The next run recreates the derived database, but the log itself may need repair.
    onBroken: (owner) => void logs.inspect(owner).catch(() => undefined),
  });
};
