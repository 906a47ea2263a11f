/**
 * Reads and writes a volume's state in its bucket's labels. All labels change in one request, which fails if the bucket
 * has changed since it was read (`ifMetagenerationMatch`).
 * https://cloud.google.com/storage/docs/tags-and-labels#bucket-labels
 */

import type { BucketMetadata } from "@google-cloud/storage";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import {
  type Instant,
  instantOfMillis,
  parseInstant,
  type Timestamp,
  timestampOf,
} from "../../../core/domain/wire/instant.ts";
import { parseVolumeName, type VolumeName } from "../../../core/domain/wire/names.ts";
import { OWNER_LABEL } from "../../cloud/deploy/labels.ts";
import type { RecordState, VolumeRecord } from "../../cloud/volumes/record.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

const states = ["making", "live", "hidden", "deleting", "restoring"] as const satisfies RecordState[];

export type BucketState = (typeof states)[number];

/** A volume's bucket, in any state. */
export interface VolumeBucket extends VolumeRecord, Pick<BucketMetadata, "cors"> {
  /** The digest of the account. */
  readonly owner: string;
  readonly state: BucketState;
  /** Objects deleted after this time, by Cloud Storage's clock, were deleted with the volume. */
  readonly since: Instant;
  readonly generation: string;
  readonly metageneration: string;
  /** When the bucket last changed, by Cloud Storage's clock. */
  readonly updated: Instant;
}

const key = {
  owner: OWNER_LABEL,
  name: "portside-volume",
  state: "portside-state",
  call: "portside-call",
  at: "portside-at",
  created: "portside-created",
  since: "portside-since",
  deleted: "portside-deleted",
} as const;

/** Labels to set; null removes a label. */
export type LabelChange = Readonly<Record<string, string | null>>;

const formatInstant = (instant: Instant): string => instant.toString();

const instantOf = (label: string | null | undefined): Instant =>
  (/^\d{1,19}$/.test(label ?? "") ? BigInt(label as string) : 0n) as Instant;

/** The labels of a new bucket. */
export const newLabels = (owner: AccountId, name: VolumeName, call: string, now: Instant): Record<string, string> => ({
  [key.owner]: accountDigest(owner),
  [key.name]: name,
  [key.created]: formatInstant(now),
  [key.state]: "making",
  [key.call]: call,
  [key.at]: formatInstant(now),
});

export const stateLabels = (state: BucketState, call: string, now: Instant): LabelChange => ({
  [key.state]: state,
  [key.call]: call,
  [key.at]: formatInstant(now),
  ...(state === "live" ? { [key.since]: null, [key.deleted]: null } : {}),
});

/** Labels to add when a bucket moves to the trash. */
export const trashLabels = (since: Instant, deletedAt: Timestamp): LabelChange => ({
  [key.since]: formatInstant(since),
  [key.deleted]: formatInstant(parseInstant(deletedAt) as Instant),
});

/** Returns undefined if the bucket does not belong to a volume. */
export const readBucket = (metadata: BucketMetadata): VolumeBucket | undefined => {
  const { labels = {}, name: id = "" } = metadata;
  const name = parseVolumeName(labels[key.name] ?? "");
  const state = states.find((one) => one === labels[key.state]);
  if (name === undefined || state === undefined) return undefined;
  return {
    id,
    name,
    owner: labels[key.owner] ?? "",
    state,
    call: labels[key.call] ?? "",
    at: instantOf(labels[key.at]),
    createdAt: timestampOf(instantOf(labels[key.created])),
    since: instantOf(labels[key.since]),
    deletedAt: timestampOf(instantOf(labels[key.deleted])),
    generation: String(metadata.generation ?? ""),
    metageneration: String(metadata.metageneration ?? ""),
    updated: parseInstant(metadata.updated ?? "") ?? instantOfMillis(0),
    cors: metadata.cors ?? [],
  };
};

export const isOwned = (bucket: VolumeBucket, owner: AccountId): boolean => bucket.owner === accountDigest(owner);
