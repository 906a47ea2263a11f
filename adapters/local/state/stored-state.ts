/**
 * The engine's view of the state, through a separate connection that only reads. The server writes the state. SQLite's
 * write-ahead log lets both work without waiting for each other.
 */
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { Challenge } from "../../../core/ports/certificate-authority.ts";
import type { Candidate, WantedService } from "../engine/reconcile.ts";
import type { StoredJob } from "../schedules/cron-timers.ts";
import type { KEY_CHECK } from "../secrets/key-file.ts";
import { AccountUserRows } from "./account-users.ts";
import { CertificateRows, type ServedCertificate } from "./certificates.ts";
import { type DomainRoute, DomainRows } from "./domains.ts";
import { STATE_FILE } from "./inspect.ts";
import { jobOf } from "./schedules.ts";
import { SecretRows } from "./secrets.ts";
import { readRevision } from "./services.ts";
import { SettingRows } from "./settings.ts";
import { hasTable, selectAll, selectFirst } from "./sql.ts";
import { VolumeRows } from "./volumes.ts";

interface Row extends Omit<WantedService, "serving"> {
  /** Changes with each write of the row. */
  readonly etag: string;
}

/** The data that the engine's listeners need for custom domains and TLS. */
export interface ServedHosts {
  /** The custom domains whose requests the engine serves. */
  readonly routes: readonly DomainRoute[];
  /** The certificates of custom domains and of deployments' hosts. Some may have expired. */
  readonly certificates: readonly ServedCertificate[];
  /** The challenges that the engine must answer. */
  readonly challenges: readonly Challenge[];
}

interface ServingRow {
  readonly serving_id: string | null;
  readonly serving: string | null;
}

export class StoredState implements Disposable {
  readonly #db: DatabaseSync;
  readonly #rows: StatementSync;
  readonly #serving: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #settings: SettingRows;
  readonly volumes: Pick<VolumeRows, "isLive" | "ownerOf">;
  readonly secrets: Pick<SecretRows, "sealed">;
  readonly users: Pick<AccountUserRows, "uidOf">;
  /** The services of the last read, so that only changed rows are parsed. */
  #services = new Map<DeploymentName, { readonly etag: string; readonly service: WantedService }>();
  #version: unknown;

  /** Opens the state of a data folder, which must exist. */
  constructor(dataDir: string) {
    this.#db = new DatabaseSync(join(dataDir, STATE_FILE), { readOnly: true, timeout: 5000 });
    this.#rows = this.#db.prepare("SELECT name, owner, created_at AS createdAt, etag FROM services ORDER BY name");
    this.#serving = this.#db.prepare("SELECT serving_id, serving FROM services WHERE name = ?");
    this.#dataVersion = this.#db.prepare("PRAGMA data_version");
    this.#settings = new SettingRows(this.#db);
    this.volumes = new VolumeRows(this.#db);
    this.secrets = new SecretRows(this.#db);
    this.users = new AccountUserRows(this.#db);
  }

  /** Every service, sorted by name. */
  services(): readonly WantedService[] {
    const before = this.#services;
    this.#db.exec("BEGIN");
    try {
      const rows = this.#rows.all() as unknown as Row[];
      this.#services = new Map(rows.map((row) => [row.name, this.#read(row, before)]));
    } finally {
      this.#db.exec("ROLLBACK");
    }
    return [...this.#services.values()].map(({ service }) => service);
  }

  /** Returns the template of the revision in a rollout, or undefined if another change has replaced the rollout. */
  rollingTemplate({ name, createdAt, revision }: Candidate): ServiceTemplate | undefined {
    const rolling =
      "SELECT rolling_id AS id, rolling FROM services WHERE name = ? AND created_at = ? AND rolling_id = ?";
    const row = selectFirst<{ id: string; rolling: string }>(this.#db, rolling, name, createdAt, revision);
    return row === undefined ? undefined : readRevision(row.id, row.rolling)?.template;
  }

  /** The schedules of all services. */
  jobs(): readonly StoredJob[] {
    const jobs = `SELECT schedules.job, services.created_at AS createdAt
      FROM schedules JOIN services USING (owner, name) ORDER BY name`;
    const rows = selectAll<{ readonly job: string; readonly createdAt: Timestamp }>(this.#db, jobs);
    return rows.map((row) => ({ ...jobOf(row), createdAt: row.createdAt }));
  }

  /**
   * Empty until the server has migrated the state of an earlier version. During an upgrade, the engine may start first.
   */
  hosts(): ServedHosts {
    if (!hasTable(this.#db, "challenges")) return { routes: [], certificates: [], challenges: [] };
    const [domains, certificates] = [new DomainRows(this.#db), new CertificateRows(this.#db)];
    this.#db.exec("BEGIN");
    try {
      return {
        routes: domains.routes(),
        certificates: certificates.served(),
        challenges: certificates.challenges(),
      };
    } finally {
      this.#db.exec("ROLLBACK");
    }
  }

  /** The names of the account's services. */
  namesOf(owner: AccountId): readonly DeploymentName[] {
    const named = "SELECT name FROM services WHERE owner = ? ORDER BY name";
    return selectAll<{ name: DeploymentName }>(this.#db, named, owner).map(({ name }) => name);
  }

  /** Returns the service's previous port. */
  portOf(service: string): number | undefined {
    return selectFirst<{ port: number }>(this.#db, "SELECT port FROM ports WHERE name = ?", service)?.port;
  }

  setting(name: "scope" | "storage_key" | typeof KEY_CHECK): string | undefined {
    return this.#settings.get(name);
  }

  /** Returns the previous port of the API, of signed URLs, or of a port that all services share. */
  sharedPort(name: "api_port" | "ingress_port" | "storage_port" | "tls_port" | "http_port"): number | undefined {
    const stored = this.#settings.get(name);
    return stored === undefined ? undefined : Number(stored);
  }

  /** Returns whether a change has been committed since the last call. */
  hasChanged(): boolean {
    const before = this.#version;
    this.#version = this.#dataVersion.get()?.data_version;
    return this.#version !== before;
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  #read({ etag, ...row }: Row, before: ReadonlyMap<DeploymentName, { etag: string; service: WantedService }>) {
    const known = before.get(row.name);
    if (known?.etag === etag) return known;
    const { serving_id, serving } = this.#serving.get(row.name) as unknown as ServingRow;
    return { etag, service: { ...row, serving: readRevision(serving_id, serving) } };
  }
}
