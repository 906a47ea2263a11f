/**
 * What is known of an account's volumes: one document for each account, in the state bucket. Buckets cannot say it of
 * themselves: their tags change without a condition, and show late
 * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel), while objects are consistent
 * and can be put on the condition that nobody has changed them.
 */
import { z } from "zod";
import type { AccountId } from "../../../core/domain/account.ts";
import { type Instant, parseInstant, type Timestamp } from "../../../core/domain/instant.ts";
import { parseVolumeName, type VolumeName } from "../../../core/domain/names.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";

/**
 * `making`: nobody sees it yet. `live`. `hidden`: while it is decided whether it goes. `deleting`: in the trash, while
 * its bucket is closed; `deleted`: that is done. `restoring`: on its way out of the trash. `purging`: nobody sees it any
 * more, and soon its bucket is gone.
 */
const states = ["making", "live", "hidden", "deleting", "deleted", "restoring", "purging"] as const;

export type VolumeState = (typeof states)[number];

const instant = z.string().regex(/^\d{1,19}$/);
const timestamp = z.string().refine((text) => parseInstant(text) !== undefined);

const recordSchema = z.object({
  /** The bucket. */
  id: z.string(),
  name: z.string().refine((text) => parseVolumeName(text) !== undefined),
  state: z.enum(states),
  /** The id of the call that brought it into the state. */
  call: z.string(),
  /** When it was brought into the state. */
  at: instant,
  createdAt: timestamp,
  /** While it is in the trash. */
  deletedAt: timestamp.optional(),
  /** Of one that was brought back: a call that was still closing it may have been cut behind that, so it is opened once more. */
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

/** Undefined: it is no document of this version. */
export const parseRecords = (text: string): readonly VolumeRecord[] | undefined => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const read = documentSchema.safeParse(json);
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

/** By how much they stand for their name; what is in the trash, or goes, does not. */
const order: readonly VolumeState[] = ["live", "hidden", "restoring", "making"];

/** What stands for the name: live, hidden, on its way back, or being made. Undefined: the name is free. */
export const standingFor = (all: readonly VolumeRecord[], name: VolumeName): VolumeRecord | undefined =>
  order.flatMap((state) => all.find((one) => one.name === name && one.state === state) ?? [])[0];

export const isInTrash = ({ state }: VolumeRecord): boolean =>
  state === "deleting" || state === "deleted" || state === "restoring";

export const volumeOf = ({ id, name, createdAt }: VolumeRecord, owner: AccountId): StoredVolume => ({
  id,
  name,
  owner,
  createdAt,
});
