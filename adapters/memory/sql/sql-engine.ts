/** SQL over the world's logs and charges. Each SQL process has a database and receives new entries with each query. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { LogEntry } from "../../../core/domain/logs/entry.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { packagedScript } from "../../shared/runtime/packaged-script.ts";
import { ProcessSqlEngine } from "../../shared/sql/process/engine.ts";
import type { EntryRow } from "../../shared/sql/tables/entries.ts";
import type { World } from "../world.ts";

const MAX_PROCESSES = 2;
const IDLE_MS = 60_000;

const script = packagedScript(
  import.meta.url,
  "adapters/memory/sql/sql-engine",
  "adapters/shared/sql/process/memory-child",
);

const rowOf = (entry: LogEntry): EntryRow => ({
  service: entry.service,
  ns: entry.instant,
  ord: Number(entry.code),
  severity: entry.severity,
  log: entry.logName,
  revision: entry.revision ?? null,
  instance: entry.instance ?? null,
  text: entry.text ?? null,
  json: entry.json === undefined ? null : JSON.stringify(entry.json),
  http: entry.http === undefined ? null : JSON.stringify(entry.http),
});

/** Returns the entries that a process has not received yet. */
const newEntries = (world: World) => {
  const sent = new Map<string, number>();
  return (owner: AccountId, pid: number | undefined): readonly EntryRow[] => {
    const rows: EntryRow[] = [];
    for (const [key, entries] of world.logs) {
      if (!key.startsWith(scopeKey(owner, ""))) continue;
      const mark = `${pid}\n${key}`;
      rows.push(...entries.slice(sent.get(mark) ?? 0).map(rowOf));
      sent.set(mark, entries.length);
    }
    return rows;
  };
};

export const createMemorySql = (world: World): ProcessSqlEngine =>
  new ProcessSqlEngine({
    script,
    argsOf: () => [],
    maxProcesses: MAX_PROCESSES,
    idleMillis: IDLE_MS,
    beforeRun: async () => {},
    fresh: newEntries(world),
    billing: async (owner) => world.charges.get(owner) ?? [],
  });
