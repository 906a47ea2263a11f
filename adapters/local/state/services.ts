/**
 * Stores services, with a copy in memory for reads. Each step of a rollout is one transaction. A rollout may begin only
 * if core's `writeConflict` finds no conflict.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Expected } from "../../../core/domain/deploy/plan.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Release, ReleaseOrigin } from "../../../core/domain/deploy/releases/release.ts";
import type { Revision, ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import { type Present, writeConflict } from "../../../core/domain/volumes/write-condition.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { parseService, renderService } from "../../shared/deploy/service-document.ts";
import { transaction } from "./database.ts";
import { STATE_FILE } from "./inspect.ts";
import { ReleaseRows } from "./releases.ts";
import { insert, selectAll, selectFirst } from "./sql.ts";

export interface StoredService {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
  readonly etag: string;
  readonly revisions: number;
  /** Identifies the sequence of release numbers. */
  readonly uid: string;
  /** The number of the newest release. */
  readonly released: number;
  readonly serving: Revision | null;
  readonly rolling: Revision | null;
  readonly attempted: ServiceTemplate;
  readonly settled: boolean;
}

/**
 * A rollout in progress. A service that was deleted and created again reuses revision ids, but has a different
 * `createdAt`.
 */
export interface Rollout {
  readonly createdAt: Timestamp;
  readonly revision: Revision;
}

type CopiedColumn = "name" | "owner" | "createdAt" | "updatedAt" | "etag" | "revisions" | "uid" | "released";

interface Row extends Pick<StoredService, CopiedColumn> {
  readonly serving_id: string | null;
  readonly serving: string | null;
  readonly rolling_id: string | null;
  readonly rolling: string | null;
  readonly attempted: string;
  readonly settled: number;
}

const SELECT = `SELECT name, owner, created_at AS createdAt, updated_at AS updatedAt, etag, revisions,
  uid, released, serving_id, serving, rolling_id, rolling, attempted, settled FROM services`;

const readTemplate = (text: string): ServiceTemplate => {
  const template = parseService(JSON.parse(text));
  if (template === undefined)
    throw new Error("The state file contains a service that this version of Portside cannot read.");
  return template;
};

export const readRevision = (id: string | null, text: string | null): Revision | null =>
  id === null || text === null ? null : { id, template: readTemplate(text) };

const write = (template: ServiceTemplate): string => JSON.stringify(renderService(template));

const readService = ({
  serving_id,
  serving,
  rolling_id,
  rolling,
  attempted,
  settled,
  ...copied
}: Row): StoredService => ({
  ...copied,
  serving: readRevision(serving_id, serving),
  rolling: readRevision(rolling_id, rolling),
  attempted: readTemplate(attempted),
  settled: settled === 1,
});

const rowOf = (service: StoredService) => {
  const { createdAt, updatedAt, serving, rolling, attempted, settled, ...copied } = service;
  return {
    ...copied,
    created_at: createdAt,
    updated_at: updatedAt,
    serving_id: serving?.id ?? null,
    serving: serving && write(serving.template),
    rolling_id: rolling?.id ?? null,
    rolling: rolling && write(rolling.template),
    attempted: write(attempted),
    settled: settled ? 1 : 0,
  };
};

export class ServiceRows {
  readonly #db: DatabaseSync;
  readonly #newEtag: () => string;
  readonly #services = new Map<string, StoredService>();
  readonly releases: ReleaseRows;

  constructor(db: DatabaseSync, newEtag: () => string) {
    this.#db = db;
    this.#newEtag = newEtag;
    this.releases = new ReleaseRows(db);
    for (const row of selectAll<Row>(db, SELECT)) this.#services.set(row.name, readService(row));
  }

  get(name: DeploymentName): StoredService | undefined {
    return this.#services.get(name);
  }

  all(): StoredService[] {
    return [...this.#services.values()];
  }

  ofOwner(owner: AccountId): StoredService[] {
    return this.all()
      .filter((service) => service.owner === owner)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Returns whether the name is held, reserved or free at `now`. */
  present(name: DeploymentName, now: Timestamp): Present {
    const service = this.get(name);
    if (service !== undefined) return { kind: "held", owner: service.owner, etag: service.etag };
    const unexpired = "SELECT owner FROM freed WHERE name = ? AND until > ?";
    const freed = selectFirst<{ owner: AccountId }>(this.#db, unexpired, name, now);
    return freed === undefined ? { kind: "free" } : { kind: "reserved", owner: freed.owner };
  }

  /**
   * Records the start of a rollout. Returns a failure, and changes nothing, if the service does not match `expected`.
   */
  begin(template: ServiceTemplate, expected: Expected, now: Timestamp): Rollout | DeployFailure {
    const lost = writeConflict(template.owner, expected, this.present(template.name, now));
    if (lost !== undefined) return lost;
    const { name, owner } = template;
    const before = this.get(name) ?? this.#blank(name, now);
    const revisions = before.revisions + 1;
    const rolling = { id: `${name}-${String(revisions).padStart(5, "0")}`, template };
    const etag = this.#newEtag();
    this.#save({ ...before, name, owner, updatedAt: now, etag, revisions, rolling, attempted: template });
    return { createdAt: before.createdAt, revision: rolling };
  }

  /**
   * Makes the revision serve all traffic, and records its release. Returns false, and changes nothing, if its rollout
   * is not in progress.
   */
  commit(name: DeploymentName, revision: string, now: Timestamp, origin: ReleaseOrigin): boolean {
    const service = this.get(name);
    if (service?.rolling?.id !== revision) return false;
    const { rolling, uid } = service;
    const released = service.released + 1;
    const { template } = rolling;
    const etag = this.#newEtag();
    this.#save(
      { ...service, etag, updatedAt: now, serving: rolling, rolling: null, settled: true, released },
      { ...origin, release: released, uid, revision, createdAt: now, template },
    );
    return true;
  }

  /** Ends a failed rollout if it is still in progress. The serving revision, if there is one, keeps serving. */
  abandon(name: DeploymentName, revision: string, now: Timestamp): void {
    const service = this.get(name);
    if (service?.rolling?.id !== revision) return;
    const ended = { ...service, etag: this.#newEtag(), updatedAt: now, rolling: null, settled: true };
    // Change the copy in memory even if the write fails. The next start abandons every rollout that is unfinished in
    // the file.
    this.#services.set(name, ended);
    this.#save(ended);
  }

  /** Deletes a service with its releases and ended deploys. Reserves its name for its owner until `reservedUntil`. */
  remove(name: DeploymentName, owner: AccountId, reservedUntil: Timestamp): void {
    const { uid = null, released = 0 } = this.get(name) ?? {};
    transaction(this.#db, () => {
      this.#db.prepare("DELETE FROM services WHERE name = ?").run(name);
      this.releases.remove(name);
      this.#db.prepare("DELETE FROM ports WHERE name = ?").run(name);
      this.#db.prepare("DELETE FROM deploys WHERE owner = ? AND name = ? AND finished_at IS NOT NULL").run(owner, name);
      insert(this.#db, "INSERT OR REPLACE INTO freed", { name, owner, until: reservedUntil, uid, released });
    });
    this.#services.delete(name);
  }

  /**
   * Repairs the state after a crash. Removes services whose first rollout did not end, with their ports, and abandons
   * the unfinished rollouts of other services.
   */
  recover(now: Timestamp): void {
    for (const service of this.all()) {
      if (service.rolling === null) continue;
      if (service.settled) this.abandon(service.name, service.rolling.id, now);
      else {
        this.#db.prepare("DELETE FROM services WHERE name = ?").run(service.name);
        this.#services.delete(service.name);
      }
    }
    this.#db.exec("DELETE FROM ports WHERE name NOT IN (SELECT name FROM services)");
  }

  /** Returns the state of a service before its first rollout. A freed name continues the numbers of its releases. */
  #blank(name: DeploymentName, now: Timestamp) {
    const unexpired = "SELECT uid, released FROM freed WHERE name = ? AND until > ? AND uid IS NOT NULL";
    const freed = selectFirst<Pick<StoredService, "uid" | "released">>(this.#db, unexpired, name, now);
    const { uid, released } = freed ?? { uid: this.#newEtag(), released: 0 };
    return { createdAt: now, revisions: 0, uid, released, serving: null, settled: false };
  }

  #save(service: StoredService, release?: Release): void {
    transaction(this.#db, () => {
      if (release !== undefined) this.releases.add(release);
      // Keep the reservation of the name until the first rollout has ended. A crash before that removes the service.
      if (service.settled) this.#db.prepare("DELETE FROM freed WHERE name = ?").run(service.name);
      insert(this.#db, "INSERT OR REPLACE INTO services", rowOf(service));
    });
    this.#services.set(service.name, service);
  }
}

/** Returns whether the state contains the service, or undefined if the state is unreadable. A server may be running. */
export const isDeployed = (dataDir: string, name: string): boolean | undefined => {
  try {
    using db = new DatabaseSync(join(dataDir, STATE_FILE), { readOnly: true });
    return db.prepare("SELECT 1 FROM services WHERE name = ?").get(name) !== undefined;
  } catch {
    return undefined;
  }
};
