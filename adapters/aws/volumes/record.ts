/**
 * The state of an account's volumes: one document per account in the state bucket. Bucket tags are unsuitable, because
 * they have no conditional writes, and changes to them become visible with a delay
 * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel). Objects are strongly
 * consistent and support conditional writes.
 */
import { z } from "zod";
import { type Instant, parseInstant, type Timestamp } from "../../../core/domain/wire/instant.ts";
import { parseVolumeName, type VolumeName } from "../../../core/domain/wire/names.ts";
import { type RecordState, recordStates, type VolumeRecord } from "../../cloud/volumes/record.ts";
import { parseJson } from "../state/parse-json.ts";

const instant = z.string().regex(/^\d{1,19}$/);
const timestamp = z.string().refine((text) => parseInstant(text) !== undefined);

const recordSchema = z.object({
  /** The bucket's name. */
  id: z.string(),
  name: z.string().refine((text) => parseVolumeName(text) !== undefined),
  state: z.enum(recordStates),
  /** The id of the call that set this state. */
  call: z.string(),
  /** The time at which this state was set. */
  at: instant,
  createdAt: timestamp,
  /** Set while the volume is in the trash. */
  deletedAt: timestamp.optional(),
  /**
   * Set on a restored volume. An interrupted move to the trash may close the bucket after the restore, so a background
   * task opens the bucket once more.
   */
  reopen: z.literal(true).optional(),
  /** The version of the bucket's CORS rules (`CORS_VERSION`). Absent until Portside has set or checked them. */
  cors: z.int().optional(),
});

const documentSchema = z.object({ version: z.literal(1), volumes: z.array(recordSchema) });

export interface AwsVolume extends VolumeRecord {
  readonly reopen?: true;
  readonly cors?: number;
}

export const printRecords = (volumes: readonly AwsVolume[]): string =>
  JSON.stringify({ version: 1, volumes: volumes.map((one) => ({ ...one, at: String(one.at) })) });

/** Returns undefined if the text is not a document of this version. */
export const parseRecords = (text: string): readonly AwsVolume[] | undefined => {
  const read = documentSchema.safeParse(parseJson(text));
  if (!read.success) return undefined;
  return read.data.volumes.map(({ name, at, createdAt, deletedAt, reopen, cors, ...rest }) => ({
    ...rest,
    name: name as VolumeName,
    at: BigInt(at) as Instant,
    createdAt: createdAt as Timestamp,
    ...(deletedAt === undefined ? {} : { deletedAt: deletedAt as Timestamp }),
    ...(reopen === undefined ? {} : { reopen }),
    ...(cors === undefined ? {} : { cors }),
  }));
};

/** Returns the record with a different state. A volume that leaves the trash gets `reopen`. */
export const inState = (record: AwsVolume, state: RecordState, deletedAt = record.deletedAt): AwsVolume => {
  const { deletedAt: _old, ...rest } = record;
  if (state === "live" && record.state === "restoring") return { ...rest, state, reopen: true };
  return { ...rest, state, ...(deletedAt === undefined ? {} : { deletedAt }) };
};
