/** Volumes and objects as clients see them, and the trash. */
import { z } from "zod";
import { trashDays } from "../accounts/limits.ts";
import { type Instant, parseInstant, plusMillis, type Timestamp, timestampOf } from "../wire/instant.ts";
import type { VolumeName } from "../wire/names.ts";

const time = z.string().meta({ format: "date-time" });

export const volumeSchema = z
  .object({
    name: z.string(),
    id: z.string().meta({
      description: "The id of the bucket. A volume that is created again under the same name has a different id.",
    }),
    created_at: time,
    attached_to: z
      .array(z.string())
      .meta({ description: "The names of the deployments that currently mount the volume." }),
  })
  .readonly();

/** A volume, with the deployments that mount it. */
export type Volume = z.output<typeof volumeSchema>;

export const createdVolumeSchema = z
  .object({
    name: z.string(),
    created: z.boolean().meta({ description: "False if the volume already existed." }),
    created_at: time,
  })
  .readonly();

export const trashedVolumeSchema = z
  .object({
    name: z.string(),
    id: z.string(),
    deleted_at: time,
    expires_at: time.meta({ description: "The volume can be restored until this time." }),
  })
  .readonly();

/** A volume in the trash, with the time until which it can be restored. */
export type TrashedVolume = z.output<typeof trashedVolumeSchema>;

export const objectPageSchema = z
  .object({
    objects: z.array(z.object({ path: z.string(), size: z.int().meta({ description: "Bytes." }), updated: time })),
    folders: z
      .array(z.string())
      .optional()
      .meta({
        description:
          "With `delimiter`, the folders directly below the prefix, with a trailing `/`. `objects` then omits the " +
          "objects in these folders.",
        examples: [["reports/"]],
      }),
    next_page_token: z
      .string()
      .nullable()
      .meta({ description: "The `page_token` of the next page; null on the last page." }),
  })
  .readonly();

/** A page of the objects of a volume. */
export type ObjectPage = z.output<typeof objectPageSchema>;

const bytes = z.int().meta({ description: "Bytes." });

const uploadPartSchema = z.object({
  number: z.int().meta({ description: "The part's number, counted from 1." }),
  url: z.string(),
  offset: bytes,
  length: bytes,
  etag: z
    .string()
    .optional()
    .meta({ description: "The `ETag` of the part, if the storage already has it. Present only after a resume." }),
});

export const multipartGrantSchema = z
  .object({
    upload_id: z
      .string()
      .meta({ description: "Identifies the upload in `POST /v1/volume/upload-resume`, for 24 hours." }),
    parts: z.array(uploadPartSchema).meta({
      description:
        "The byte range of the object to PUT to each URL. A part must have exactly `length` bytes. A part that is sent " +
        "again replaces the earlier one. Send a `Content-Length`.",
    }),
    complete_url: z.string().meta({
      description:
        "After the last part, POST a `<CompleteMultipartUpload>` to this URL. It contains a `<Part>` for each part, " +
        "with the `<PartNumber>` and the `<ETag>` from the response to the part's PUT. A response that contains " +
        "`<Error>` is a failure.",
    }),
    expires_at: time.meta({ description: "When the URLs expire." }),
  })
  .meta({ description: "Returned if the request has `resumable`, or if `size` exceeds the maximum size of one PUT." });

export const uploadGrantSchema = z
  .union([z.object({ url: z.string(), method: z.literal("PUT"), expires_at: time }), multipartGrantSchema])
  .readonly();
export const downloadGrantSchema = z.object({ url: z.string(), expires_at: time }).readonly();

/** A signed URL to PUT an object, or the URLs of its parts. */
export type UploadGrant = z.output<typeof uploadGrantSchema>;

/** The URLs of an upload in parts. */
export type MultipartGrant = z.output<typeof multipartGrantSchema>;

/** A signed URL to GET an object. */
export type DownloadGrant = z.output<typeof downloadGrantSchema>;

/** A deleted volume, as the store records it. */
export interface DeletedVolume {
  readonly name: VolumeName;
  readonly id: string;
  readonly deletedAt: Timestamp;
}

/** Returns the time until which a deleted volume can be restored. */
export const restorableUntil = (deletedAt: Timestamp): Instant =>
  plusMillis(parseInstant(deletedAt) as Instant, trashDays * 86_400_000);

/** Returns the volumes that can still be restored, most recently deleted first. */
export const trashOf = (deleted: readonly DeletedVolume[], now: Instant): TrashedVolume[] =>
  deleted
    .map((one) => ({ ...one, until: restorableUntil(one.deletedAt) }))
    .filter(({ until }) => until > now)
    .sort((a, b) => (a.until > b.until ? -1 : 1))
    .map(({ name, id, deletedAt, until }) => ({ name, id, deleted_at: deletedAt, expires_at: timestampOf(until) }));
