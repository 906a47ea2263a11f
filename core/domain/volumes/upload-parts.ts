/** Divides an upload into parts. */
import { MiB, pendingUploadsMax, uploadHours } from "../accounts/limits.ts";
import { type Instant, plusMillis } from "../wire/instant.ts";

/** The limits of a storage for uploads in parts. Sizes are in bytes. */
export interface PartBounds {
  /** Minimum size of a part, except for the last one. */
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly maxParts: number;
}

/** A part of an object. `offset` and `length` are in bytes. */
export interface PartRange {
  /** Counted from 1. */
  readonly number: number;
  readonly offset: number;
  readonly length: number;
}

/** A part that the storage has. */
export interface StoredPart {
  readonly number: number;
  /** The size in bytes. */
  readonly size: number;
  /** The entity tag, including its quotes. */
  readonly etag: string;
}

/**
 * A client repeats a failed part as a whole, so small parts make retries cheaper. However, a response with thousands of
 * URLs is slow.
 */
const TARGET_BYTES = 16 * MiB;
const TARGET_PARTS = 100;

/**
 * Returns the parts of an object in order and without gaps. All parts except the last one have the same length.
 * @param size from 1 to the bounds' `maxBytes` times `maxParts`
 */
export const partsOf = (size: number, { minBytes, maxBytes, maxParts }: PartBounds): PartRange[] => {
  const wanted = Math.ceil(size / Math.min(TARGET_PARTS, maxParts) / MiB) * MiB;
  const length = Math.min(maxBytes, Math.max(minBytes, TARGET_BYTES, wanted));
  const ranges: PartRange[] = [];
  for (let offset = 0; offset < size; offset += length)
    ranges.push({ number: ranges.length + 1, offset, length: Math.min(length, size - offset) });
  return ranges;
};

/** Returns the entity tag of a part, if the storage has all its bytes. */
export const storedTag = ({ number, length }: PartRange, stored: readonly StoredPart[]): string | undefined =>
  stored.find((part) => part.number === number && part.size === length)?.etag;

/** Returns when an upload in parts expires. */
export const uploadExpiry = (startedAt: Instant): Instant => plusMillis(startedAt, uploadHours * 3_600_000);

/**
 * Returns a message if a volume has too many incomplete uploads in parts to begin another one.
 * @param pending the number of the volume's incomplete uploads
 * @param hours the capability `volumes.incomplete_upload_hours`
 */
export const pendingUploadsProblem = (pending: number, hours: number): string | undefined =>
  pending < pendingUploadsMax
    ? undefined
    : `has ${pendingUploadsMax} incomplete uploads, which is the maximum; complete some of them, or wait until the storage deletes them, usually within ${hours} hours after their start`;
