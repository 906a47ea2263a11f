/**
 * Stores services, mirrored in memory for reading. Each step of a rollout is one transaction. The core decides who may write.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Expected } from "../../../core/domain/deploy/plan.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Revision, ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import { type Present, writeConflict } from "../../../core/domain/volumes/write-condition.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { parseService, renderService } from "../../shared/deploy/service-document.ts";
import { transaction } from "./database.ts";
import { STATE_FILE } from "./inspect.ts";

export interface StoredService {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
  readonly etag: string;
  readonly revisions: number;
  readonly serving: Revision | null;
  readonly rolling: Revision | null;
  readonly attempted: ServiceTemplate;
  readonly settled: boolean;
}

interface Row {
  name: string;
  owner: string;
  created_at: string;
  updated_at: string;
  etag: string;
  revisions: number;
  serving_id: string | null;
  serving: string | null;
  rolling_id: string | null;
  rolling: string | null;
  attempted: string;
  settled: number;
}

const readTemplate = (text: string): ServiceTemplate => {
  const template = parseService(JSON.parse(text));
  if (template === undefined)
    throw new Error("The state file contains a service that this version of Portside cannot read.");
  return template;
};

const readRevision = (id: string | null, text: string | null): Revision | null =>
  id === null || text === null ? null : { id, template: readTemplate(text) };

const write = (template: ServiceTemplate): string => JSON.stringify(renderService(template));

const UPSERT = `INSERT OR REPLACE INTO services
  (name, owner, created_at, updated_at, etag, revisions, serving_id, serving, rolling_id, rolling, attempted, settled)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export class ServiceRows {
  readonly #db: DatabaseSync;
  readonly #newEtag: () => string;
  readonly #services = new Map<string, StoredService>();

  constructor(db: DatabaseSync, newEtag: () => string) {
    this.#db = db;
    this.#newEtag = newEtag;
    for (const row of db.prepare("SELECT * FROM services").all() as unknown as Row[])
      this.#services.set(row.name, this.#read(row));
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

  /** Returns the holder of the name at `now`. */
  present(name: DeploymentName, now: Timestamp): Present {
    const service = this.get(name);
    if (service !== undefined) return { kind: "held", owner: service.owner, etag: service.etag };
    const freed = this.#db.prepare("SELECT owner FROM freed WHERE name = ? AND until > ?").get(name, now) as
      | { owner: string }
      | undefined;
    return freed === undefined ? { kind: "free" } : { kind: "reserved", owner: freed.owner as AccountId };
  }

  /** Records the start of a rollout. Returns a failure, and changes nothing, if `expected` does not hold. */
  begin(template: ServiceTemplate, expected: Expected, now: Timestamp): Revision | DeployFailure {
    const lost = writeConflict(template.owner, expected, this.present(template.name, now));
    if (lost !== undefined) return lost;
    const before = this.get(template.name);
    const revisions = (before?.revisions ?? 0) + 1;
    const rolling = { id: `${template.name}-${String(revisions).padStart(5, "0")}`, template };
    this.#save({
      name: template.name,
      owner: template.owner,
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
      etag: this.#newEtag(),
      revisions,
      serving: before?.serving ?? null,
      rolling,
      attempted: template,
      settled: before?.settled ?? false,
    });
    return rolling;
  }

  /** Makes the revision serve all traffic. Returns false if another rollout has replaced its rollout. */
  commit(name: DeploymentName, revision: string, now: Timestamp): boolean {
    const service = this.get(name);
    if (service?.rolling?.id !== revision) return false;
    const { rolling } = service;
    this.#save({ ...service, etag: this.#newEtag(), updatedAt: now, serving: rolling, rolling: null, settled: true });
    return true;
  }

  /** Ends a rollout without success; the serving revision stays. */
  abandon(name: DeploymentName, revision: string, now: Timestamp): void {
    const service = this.get(name);
    if (service?.rolling?.id !== revision) return;
    const ended = { ...service, etag: this.#newEtag(), updatedAt: now, rolling: null, settled: true };
    // Also if the write fails, because the next start abandons all rollouts that are under way in the file.
    this.#services.set(name, ended);
    this.#save(ended);
  }

  /** Deletes a service and its ended deploys, and reserves its name for its owner until `reservedUntil`. */
  remove(name: DeploymentName, owner: AccountId, reservedUntil: Timestamp): void {
    transaction(this.#db, () => {
      this.#db.prepare("DELETE FROM services WHERE name = ?").run(name);
      this.#db.prepare("DELETE FROM ports WHERE name = ?").run(name);
      this.#db.prepare("DELETE FROM deploys WHERE owner = ? AND name = ? AND finished_at IS NOT NULL").run(owner, name);
      this.#db
        .prepare("INSERT OR REPLACE INTO freed (name, owner, until) VALUES (?, ?, ?)")
        .run(name, owner, reservedUntil);
    });
    this.#services.delete(name);
  }

  /**
   * Repairs the state after a crash: removes services whose first rollout never ended, and abandons every other rollout
   * that was under way.
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
  }

  #save(service: StoredService): void {
    transaction(this.#db, () => {
      // If the first rollout fails, the service is removed, and the earlier reservation of its name must still exist.
      if (service.settled) this.#db.prepare("DELETE FROM freed WHERE name = ?").run(service.name);
      this.#db
        .prepare(UPSERT)
        .run(
          service.name,
          service.owner,
          service.createdAt,
          service.updatedAt,
          service.etag,
          service.revisions,
          service.serving?.id ?? null,
          service.serving === null ? null : write(service.serving.template),
          service.rolling?.id ?? null,
          service.rolling === null ? null : write(service.rolling.template),
          write(service.attempted),
          service.settled ? 1 : 0,
        );
    });
    this.#services.set(service.name, service);
  }

  #read(row: Row): StoredService {
    return {
      name: row.name as DeploymentName,
      owner: row.owner as AccountId,
      createdAt: row.created_at as Timestamp,
      updatedAt: row.updated_at as Timestamp,
      etag: row.etag,
      revisions: row.revisions,
      serving: readRevision(row.serving_id, row.serving),
      rolling: readRevision(row.rolling_id, row.rolling),
      attempted: readTemplate(row.attempted),
      settled: row.settled === 1,
    };
  }
}

/** Whether the state contains the service; undefined if the state cannot be read. Works while a server has it open. */
export const isDeployed = (dataDir: string, name: string): boolean | undefined => {
  try {
    const db = new DatabaseSync(join(dataDir, STATE_FILE), { readOnly: true });
    try {
      return db.prepare("SELECT 1 FROM services WHERE name = ?").get(name) !== undefined;
    } finally {
      db.close();
    }
  } catch {
    return undefined;
  }
};
