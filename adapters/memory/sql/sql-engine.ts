/** SQL over the world's logs and charges: the process of the local engine, over a database of its own that is told every entry. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { LogEntry } from "../../../core/domain/logs/entry.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { packagedScript } from "../../shared/runtime/packaged-script.ts";
import { ProcessSqlEngine } from "../../shared/sql/process/engine.ts";
import type { EntryRow } from "../../shared/sql/tables/entries.ts";
import type { World } from "../world.ts";

const MOST = 2;
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

/** Entries that a process has not been told of. */
const teller = (world: World) => {
  const told = new Map<string, number>();
  return (owner: AccountId, pid: number | undefined): readonly EntryRow[] => {
    const rows: EntryRow[] = [];
    for (const [key, entries] of world.logs) {
      if (!key.startsWith(scopeKey(owner, ""))) continue;
      const mark = `${pid}\n${key}`;
      rows.push(...entries.slice(told.get(mark) ?? 0).map(rowOf));
      told.set(mark, entries.length);
    }
    return rows;
  };
};

export const createMemorySql = (world: World): ProcessSqlEngine =>
  new ProcessSqlEngine({
    script,
    argsOf: () => [],
    most: MOST,
    idleMillis: IDLE_MS,
    beforeRun: async () => {},
    fresh: teller(world),
    billing: async (owner) => world.charges.get(owner) ?? [],
  });
