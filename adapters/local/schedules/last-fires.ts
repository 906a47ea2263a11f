/** Stores the outcome of each schedule's latest attempt in the engine's file. Mirrored in memory. */
import type { DatabaseSync } from "node:sqlite";
import type { LastFire } from "../../../core/domain/schedules/fire-policy.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import type { ReplaceableFile } from "../data-folder/replaceable-file.ts";
import { transaction } from "../state/database.ts";
import { insert, selectAll } from "../state/sql.ts";

/** Identifies a deployment. A deleted one that is created again has another `createdAt`. */
export interface FiredService extends ScheduledService {
  readonly createdAt: Timestamp;
}

interface Row extends ScheduledService {
  readonly created_at: Timestamp;
  /** As JSON. */
  readonly fire: string;
}

const keyOf = ({ owner, name }: ScheduledService): string => scopeKey(owner, name);

/** Moves the latest fires that earlier versions stored in the state. */
const moveFrom = (state: DatabaseSync, db: DatabaseSync): void => {
  const stored = "schedules.last_fire IS NOT NULL";
  const rows = selectAll<Row>(
    state,
    `SELECT owner, name, services.created_at, schedules.last_fire AS fire
     FROM schedules JOIN services USING (owner, name) WHERE ${stored}`,
  );
  transaction(db, () => {
    for (const row of rows) insert(db, "INSERT OR IGNORE INTO last_fires", { ...row });
  });
  if (rows.length > 0) state.exec(`UPDATE schedules SET last_fire = NULL WHERE ${stored}`);
};

export class LastFires {
  readonly #file: ReplaceableFile;
  readonly #fires = new Map<string, FiredService & { readonly fire: LastFire }>();

  constructor(file: ReplaceableFile, state: DatabaseSync) {
    this.#file = file;
    const rows = file.use((db) => {
      moveFrom(state, db);
      return selectAll<Row>(db, "SELECT owner, name, created_at, fire FROM last_fires");
    });
    for (const { created_at: createdAt, fire, ...service } of rows)
      this.#fires.set(keyOf(service), { ...service, createdAt, fire: JSON.parse(fire) as LastFire });
  }

  find(service: FiredService): LastFire | null {
    const found = this.#fires.get(keyOf(service));
    return found?.createdAt === service.createdAt ? found.fire : null;
  }

  note(service: FiredService, fire: LastFire): void {
    const { owner, name, createdAt } = service;
    const row = { owner, name, created_at: createdAt, fire: JSON.stringify(fire) };
    this.#file.use((db) => insert(db, "INSERT OR REPLACE INTO last_fires", row));
    this.#fires.set(keyOf(service), { owner, name, createdAt, fire });
  }

  /** Forgets the fires of schedules that are not in `services`. */
  retain(services: readonly ScheduledService[]): void {
    const kept = new Set(services.map(keyOf));
    for (const [key, service] of this.#fires) if (!kept.has(key)) this.#forget(service);
  }

  #forget(service: ScheduledService): void {
    const { owner, name } = service;
    this.#file.use((db) => void db.prepare("DELETE FROM last_fires WHERE owner = ? AND name = ?").run(owner, name));
    this.#fires.delete(keyOf(service));
  }
}
