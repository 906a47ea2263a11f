/** The local engine's SQL: a process and a derived database an account, beside its log file. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { packagedScript } from "../../shared/runtime/packaged-script.ts";
import { ProcessSqlEngine } from "../../shared/sql/process/engine.ts";
import type { BillingSource } from "../../shared/sql/tables/billing.ts";
import type { LocalLogs } from "../logs/store.ts";

/** Processes at once; one that rests makes room. */
const MOST = 4;
const IDLE_MS = 5 * 60_000;

const script = packagedScript(import.meta.url, "adapters/local/sql/engine", "adapters/local/sql/child");

export interface LocalSqlConfig {
  /** Holds a folder an account. */
  readonly folder: string;
  readonly logs: LocalLogs;
  readonly billing: BillingSource;
  readonly idleMillis?: number;
  /** Processes at once. */
  readonly most?: number;
}

export const createLocalSql = (config: LocalSqlConfig): ProcessSqlEngine => {
  const { folder, logs, billing, idleMillis = IDLE_MS, most = MOST } = config;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return new ProcessSqlEngine({
    script,
    argsOf: (owner) => [join(folder, accountDigest(owner), "logs.duckdb"), logs.pathOf(owner)],
    most,
    idleMillis,
    compiled: join(folder, "compiled"),
    beforeRun: (owner) => logs.writeAll(owner),
    billing,
    // The database is derived and is built anew by the next run; the log may need repair.
    onBroken: (owner) => void logs.inspect(owner).catch(() => undefined),
  });
};
