/**
 * What a volume's bucket says about itself, in its labels, and back. The labels change in one step, on the condition
 * that nobody else has changed the bucket meanwhile (`ifMetagenerationMatch`).
 * https://cloud.google.com/storage/docs/tags-and-labels#bucket-labels
 */

import type { BucketMetadata } from "@google-cloud/storage";
import type { AccountId } from "../../../core/domain/account.ts";
import {
  type Instant,
  instantOfMillis,
  parseInstant,
  type Timestamp,
  timestampOf,
} from "../../../core/domain/instant.ts";
import { parseVolumeName, type VolumeName } from "../../../core/domain/names.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { accountDigest } from "../../shared/account-digest.ts";
import { OWNER_LABEL } from "../../shared/labels.ts";

/**
 * `making`: nobody sees it yet. `live`. `hidden`: while it is decided whether it goes. `deleting`: in the trash, and
 * soon empty and gone. `restoring`: on its way out of the trash.
 */
export type BucketState = "making" | "live" | "hidden" | "deleting" | "restoring";

const states: readonly string[] = ["making", "live", "hidden", "deleting", "restoring"] satisfies BucketState[];

/** A volume's bucket, of whatever state. */
export interface VolumeBucket {
  readonly id: string;
  readonly name: VolumeName;
  /** The digest of the account. */
  readonly owner: string;
  readonly state: BucketState;
  /** The id of the call that brought it into the state. */
  readonly call: string;
  /** When it was brought into the state. */
  readonly at: Instant;
  readonly createdAt: Timestamp;
  /** Objects deleted from then on went with the volume, by the storage's own clock. */
  readonly since: Instant;
  readonly deletedAt: Timestamp;
  readonly generation: string;
  readonly metageneration: string;
  /** By the storage's own clock. */
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

/** Labels as a change of them; null takes one away. */
export type LabelChange = Readonly<Record<string, string | null>>;

const numeral = (instant: Instant): string => instant.toString();

const instantOf = (label: string | null | undefined): Instant =>
  (/^\d{1,19}$/.test(label ?? "") ? BigInt(label as string) : 0n) as Instant;

/** The labels of a bucket that is about to be made. */
export const newLabels = (owner: AccountId, name: VolumeName, call: string, now: Instant): Record<string, string> => ({
  [key.owner]: accountDigest(owner),
  [key.name]: name,
  [key.created]: numeral(now),
  [key.state]: "making",
  [key.call]: call,
  [key.at]: numeral(now),
});

export const stateLabels = (state: BucketState, call: string, now: Instant): LabelChange => ({
  [key.state]: state,
  [key.call]: call,
  [key.at]: numeral(now),
  ...(state === "live" ? { [key.since]: null, [key.deleted]: null } : {}),
});

/** What is added to a bucket that goes to the trash. */
export const trashLabels = (since: Instant, deletedAt: Timestamp): LabelChange => ({
  [key.since]: numeral(since),
  [key.deleted]: numeral(parseInstant(deletedAt) as Instant),
});

/** Undefined for a bucket that is no volume. */
export const readBucket = (metadata: BucketMetadata): VolumeBucket | undefined => {
  const { labels = {}, name: id = "" } = metadata;
  const name = parseVolumeName(labels[key.name] ?? "");
  const state = labels[key.state];
  if (name === undefined || typeof state !== "string" || !states.includes(state)) return undefined;
  return {
    id,
    name,
    owner: labels[key.owner] ?? "",
    state: state as BucketState,
    call: labels[key.call] ?? "",
    at: instantOf(labels[key.at]),
    createdAt: timestampOf(instantOf(labels[key.created])),
    since: instantOf(labels[key.since]),
    deletedAt: timestampOf(instantOf(labels[key.deleted])),
    generation: String(metadata.generation ?? ""),
    metageneration: String(metadata.metageneration ?? ""),
    updated: parseInstant(metadata.updated ?? "") ?? instantOfMillis(0),
  };
};

export const isOwned = (bucket: VolumeBucket, owner: AccountId): boolean => bucket.owner === accountDigest(owner);

export const volumeOf = ({ id, name, createdAt }: VolumeBucket, owner: AccountId): StoredVolume => ({
  id,
  name,
  owner,
  createdAt,
});
