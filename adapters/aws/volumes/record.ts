/**
 * The state of an account's volumes: one document per account in the state bucket. Bucket tags are unsuitable: S3 has
 * no conditional writes for them, and shows changes with a delay
 * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel). Objects are strongly
 * consistent and support conditional writes.
 */
import { z } from "zod";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Instant, parseInstant, type Timestamp } from "../../../core/domain/wire/instant.ts";
import { parseVolumeName, type VolumeName } from "../../../core/domain/wire/names.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { parseJson } from "../parse-json.ts";

/**
 * `making`: being created, not visible yet. `live`: visible. `hidden`: a delete is in progress and may still be
 * aborted. `deleting`: in the trash, its bucket is being closed. `deleted`: in the trash, its bucket is closed.
 * `restoring`: leaving the trash. `purging`: no longer visible, its bucket is being deleted.
 */
const states = ["making", "live", "hidden", "deleting", "deleted", "restoring", "purging"] as const;

export type VolumeState = (typeof states)[number];

const instant = z.string().regex(/^\d{1,19}$/);
const timestamp = z.string().refine((text) => parseInstant(text) !== undefined);

const recordSchema = z.object({
  /** The bucket's name. */
  id: z.string(),
  name: z.string().refine((text) => parseVolumeName(text) !== undefined),
  state: z.enum(states),
  /** The id of the call that set this state. */
  call: z.string(),
  /** When this state was set. */
  at: instant,
  createdAt: timestamp,
  /** Set while the volume is in the trash. */
  deletedAt: timestamp.optional(),
  /**
   * Set on a restored volume. An interrupted move to the trash may have closed its bucket later, so it is opened once
   * more.
   */
  reopen: z.literal(true).optional(),
});

const documentSchema = z.object({ version: z.literal(1), volumes: z.array(recordSchema) });

export interface VolumeRecord {
  readonly id: string;
  readonly name: VolumeName;
  readonly state: VolumeState;
  readonly call: string;
  readonly at: Instant;
  readonly createdAt: Timestamp;
  readonly deletedAt?: Timestamp;
  readonly reopen?: true;
}

export const printRecords = (volumes: readonly VolumeRecord[]): string =>
  JSON.stringify({ version: 1, volumes: volumes.map((one) => ({ ...one, at: String(one.at) })) });

/** Undefined if the text is not a document of this version. */
export const parseRecords = (text: string): readonly VolumeRecord[] | undefined => {
  const read = documentSchema.safeParse(parseJson(text));
  if (!read.success) return undefined;
  return read.data.volumes.map(({ name, at, createdAt, deletedAt, reopen, ...rest }) => ({
    ...rest,
    name: name as VolumeName,
    at: BigInt(at) as Instant,
    createdAt: createdAt as Timestamp,
    ...(deletedAt === undefined ? {} : { deletedAt: deletedAt as Timestamp }),
    ...(reopen === undefined ? {} : { reopen }),
  }));
};

/** States that hold a name, by precedence. */
const order: readonly VolumeState[] = ["live", "hidden", "restoring", "making"];

/** Returns the volume that holds the name: live, hidden, restoring or making. Undefined if the name is free. */
export const holderOf = (all: readonly VolumeRecord[], name: VolumeName): VolumeRecord | undefined =>
  order.flatMap((state) => all.find((one) => one.name === name && one.state === state) ?? [])[0];

export const isInTrash = ({ state }: VolumeRecord): boolean =>
  state === "deleting" || state === "deleted" || state === "restoring";

export const volumeOf = ({ id, name, createdAt }: VolumeRecord, owner: AccountId): StoredVolume => ({
  id,
  name,
  owner,
  createdAt,
});
