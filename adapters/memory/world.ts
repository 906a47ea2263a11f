/** The in-memory cloud that the memory provider's ports share. Plain data, copied on read and write. */
import type { AccountId } from "../../core/domain/accounts/account.ts";
import type { DeployOutcome } from "../../core/domain/deploy/events.ts";
import type { DomainRecord, StoredDomain } from "../../core/domain/domains/domain.ts";
import type { LogEntry } from "../../core/domain/logs/entry.ts";
import type { CronJob } from "../../core/domain/schedules/cron-job.ts";
import type { LastFire } from "../../core/domain/schedules/fire-policy.ts";
import type { StoredSecret } from "../../core/domain/secrets/secret.ts";
import type { Rollup } from "../../core/domain/usage/rollup.ts";
import type { Instant, Timestamp } from "../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../core/domain/wire/names.ts";
import type { KeyRecord } from "../shared/accounts/key-record.ts";
import type { LinkRecord, SessionRecord } from "../shared/accounts/session-record.ts";
import type { ReleaseDocument } from "../shared/deploy/release-document.ts";
import type { ServiceDocument } from "../shared/deploy/service-document.ts";
import type { BillingRow } from "../shared/sql/tables/billing.ts";

export interface StoredRevision {
  readonly id: string;
  readonly document: ServiceDocument;
}

export interface StoredService {
  readonly owner: AccountId;
  readonly createdAt: Timestamp;
  updatedAt: Timestamp;
  etag: string;
  revisions: number;
  serving: StoredRevision | null;
  rollingOut: ServiceDocument | null;
  attempted: ServiceDocument;
  /** Identifies the sequence of release numbers. */
  readonly uid: string;
  /** The number of the newest release. */
  released: number;
  /** Newest first. */
  releases: readonly ReleaseDocument[];
}

/** A reserved name of a deleted deployment. */
export interface FreedName extends Pick<StoredService, "owner" | "uid" | "released"> {
  readonly until: Instant;
}

export interface StoredBytes {
  readonly bytes: Uint8Array;
  readonly etag: string;
  readonly updated: Instant;
}

/** An upload in parts that is not complete. */
export interface StoredUpload {
  readonly path: string;
  readonly startedAt: Instant;
  /** By number. */
  readonly parts: Map<number, StoredBytes>;
}

export interface StoredBucket {
  readonly id: string;
  readonly owner: AccountId;
  readonly name: VolumeName;
  readonly createdAt: Timestamp;
  hidden: boolean;
  deletedAt: Timestamp | null;
  readonly objects: Map<string, StoredBytes>;
  /** Uploads in parts by id. */
  readonly uploads: Map<string, StoredUpload>;
}

/** A secret, and the number of its newest version. The record outlives the versions, because numbers are not reused. */
export interface StoredSecretRecord extends StoredSecret {
  readonly owner: AccountId;
  readonly numbered: number;
  /** The version whose redeploys have not all ended. */
  readonly redeploying?: number | undefined;
}

/** A record of the simulated DNS. */
export interface SimulatedRecord extends Pick<DomainRecord, "name" | "value"> {
  readonly type: DomainRecord["type"] | "CAA";
}

/** The complete state of the provider. */
export interface World {
  readonly services: Map<string, StoredService>;
  /** Names of deleted deployments. */
  readonly freed: Map<string, FreedName>;
  /** The last recorded deploy outcome, by account and name. */
  readonly outcomes: Map<string, DeployOutcome>;
  /** The references of all images. */
  readonly images: Set<string>;
  /** Entries in order, by account and name. */
  readonly logs: Map<string, LogEntry[]>;
  readonly keys: Map<string, KeyRecord>;
  readonly sessions: Map<string, SessionRecord>;
  /** Sign-in links by hash. */
  readonly links: Map<string, LinkRecord>;
  /** Volumes by id, including deleted ones. */
  readonly volumes: Map<string, StoredBucket>;
  /** Secrets by account and name, including deleted ones. */
  readonly secrets: Map<string, StoredSecretRecord>;
  readonly domains: Map<string, StoredDomain>;
  /** The records of the simulated DNS by name. */
  readonly dnsRecords: Map<string, readonly SimulatedRecord[]>;
  /** The names whose simulated DNS servers do not respond. */
  readonly silentNames: Set<string>;
  /** Schedules by account and name. */
  readonly schedules: Map<string, CronJob>;
  /** The latest requested fire of each schedule, by account and name. */
  readonly fires: Map<string, LastFire>;
  /** Charges for running services, by account. */
  readonly charges: Map<AccountId, readonly BillingRow[]>;
  /** Rollups of metrics, by account and name, then by minute. */
  readonly rollups: Map<string, Map<number, Rollup>>;
  /** The minutes that have metrics. */
  readonly observed: Set<number>;
  /** A counter from which the ports create ETags. */
  writes: number;
}

export const createWorld = (): World => ({
  services: new Map(),
  freed: new Map(),
  outcomes: new Map(),
  images: new Set(),
  logs: new Map(),
  keys: new Map(),
  sessions: new Map(),
  links: new Map(),
  volumes: new Map(),
  secrets: new Map(),
  domains: new Map(),
  dnsRecords: new Map(),
  silentNames: new Set(),
  schedules: new Map(),
  fires: new Map(),
  charges: new Map(),
  rollups: new Map(),
  observed: new Set(),
  writes: 0,
});

/** Returns a volume by id, unless it is deleted. */
export const findBucket = (world: World, id: string): StoredBucket | undefined => {
  const bucket = world.volumes.get(id);
  return bucket?.deletedAt === null ? bucket : undefined;
};

/** Empties the world in place, because the ports hold references to it. */
export const resetWorld = (world: World): void => {
  for (const part of Object.values(world)) if (part instanceof Map || part instanceof Set) part.clear();
  world.writes = 0;
};
