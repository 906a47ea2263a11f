/** Stores the outcome of each schedule's latest attempt in the engine's file. */
import type { DatabaseSync } from "node:sqlite";
import type { LastFire } from "../../../core/domain/schedules/fire-policy.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import type { ReadOnlyFile } from "../data-folder/read-only-file.ts";
import type { ReplaceableFile } from "../data-folder/replaceable-file.ts";
import { transaction } from "../state/database.ts";
import { insert, selectAll, selectFirst } from "../state/sql.ts";

/** Identifies a deployment. If the deployment is deleted and created again, `createdAt` changes. */
export interface FiredService extends ScheduledService {
  readonly createdAt: Timestamp;
}

interface Row extends ScheduledService {
  readonly created_at: Timestamp;
  /** As JSON. */
  readonly fire: string;
}

const keyOf = ({ owner, name }: ScheduledService): string => scopeKey(owner, name);

/**
 * Moves the latest fires that earlier versions stored in the state to the engine's file.
 * @param open opens the engine's file; called only if the state has such fires
 */
export const moveLastFires = (state: DatabaseSync, open: () => ReplaceableFile): void => {
  const stored = "schedules.last_fire IS NOT NULL";
  const rows = selectAll<Row>(
    state,
    `SELECT owner, name, services.created_at, schedules.last_fire AS fire
     FROM schedules JOIN services USING (owner, name) WHERE ${stored}`,
  );
  if (rows.length === 0) return;
  const file = open();
  try {
    file.use((db) =>
      transaction(db, () => {
        for (const row of rows) insert(db, "INSERT OR IGNORE INTO last_fires", { ...row });
      }),
    );
  } finally {
    file.close();
  }
  state.exec(`UPDATE schedules SET last_fire = NULL WHERE ${stored}`);
};

/** Returns the server's function for reading the latest fire of a service's schedule. */
export const lastFireReader =
  (file: Pick<ReadOnlyFile, "use">, logger: Logger) =>
  ({ owner, name, createdAt }: FiredService): LastFire | null => {
    const sql = "SELECT fire FROM last_fires WHERE owner = ? AND name = ? AND created_at = ?";
    try {
      const row = file.use((db) => selectFirst<Pick<Row, "fire">>(db, sql, owner, name, createdAt));
      return row === undefined ? null : (JSON.parse(row.fire) as LastFire);
    } catch (cause) {
      // A deployment must be listed even if its latest fire cannot be read.
      logger.warn("could not read the latest run of a schedule", { name, cause });
      return null;
    }
  };

/** Stores the latest fires, for the engine. Remembers which schedules have fired. */
export class LastFires {
  readonly #file: ReplaceableFile;
  readonly #fired = new Map<string, ScheduledService>();

  constructor(file: ReplaceableFile) {
    this.#file = file;
    const rows = file.use((db) => selectAll<ScheduledService>(db, "SELECT owner, name FROM last_fires"));
    for (const service of rows) this.#fired.set(keyOf(service), service);
  }

  note(service: FiredService, fire: LastFire): void {
    const { owner, name, createdAt } = service;
    const row = { owner, name, created_at: createdAt, fire: JSON.stringify(fire) };
    this.#file.use((db) => insert(db, "INSERT OR REPLACE INTO last_fires", row));
    this.#fired.set(keyOf(service), { owner, name });
  }

  /** Forgets the fires of schedules that are not in `services`. */
  retain(services: readonly ScheduledService[]): void {
    const kept = new Set(services.map(keyOf));
    for (const [key, service] of this.#fired) if (!kept.has(key)) this.#forget(service);
  }

  #forget(service: ScheduledService): void {
    const { owner, name } = service;
    this.#file.use((db) => void db.prepare("DELETE FROM last_fires WHERE owner = ? AND name = ?").run(owner, name));
    this.#fired.delete(keyOf(service));
  }
}
