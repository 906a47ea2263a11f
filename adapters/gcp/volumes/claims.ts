/**
 * Claims decide which bucket a volume's name refers to when calls race. A claim is an empty object per account and
 * name, created only if none exists (`ifGenerationMatch=0`). A call that finds a claim completes the claimed creation
 * or restore, so all racing calls use the same bucket. Live volumes are read from the buckets alone: losing a claim
 * loses no data. https://cloud.google.com/storage/docs/request-preconditions
 */
import type { FileMetadata } from "@google-cloud/storage";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Instant, instantOfMillis, parseInstant } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import type { ApiResult, StorageApi } from "./storage-calls.ts";

export interface Claim {
  readonly bucket: string;
  readonly purpose: "make" | "restore";
  /** Creation time, by the storage's clock. */
  readonly at: Instant;
  readonly generation: string;
}

const readClaim = ({ metadata = {}, generation, timeCreated }: FileMetadata): Claim => ({
  bucket: String(metadata["bucket"] ?? ""),
  purpose: metadata["purpose"] === "restore" ? "restore" : "make",
  at: parseInstant(timeCreated ?? "") ?? instantOfMillis(0),
  generation: String(generation ?? ""),
});

const objectName = (owner: AccountId, name: VolumeName): string => `${name}/${accountDigest(owner)}`;

const TRIES = 10;

export class Claims {
  readonly #api: StorageApi;
  readonly #bucket: string;
  readonly #createBucket: (options: CallOptions) => ApiResult<void>;

  /** @param createBucket creates the claims bucket if it does not exist */
  constructor(api: StorageApi, bucket: string, createBucket: (options: CallOptions) => ApiResult<void>) {
    this.#api = api;
    this.#bucket = bucket;
    this.#createBucket = createBucket;
  }

  /** Returns the claim on the name: a new one, or the existing one. */
  async take(
    owner: AccountId,
    name: VolumeName,
    wanted: Pick<Claim, "bucket" | "purpose">,
    options: CallOptions,
  ): ApiResult<Claim> {
    for (let tries = 0; tries < TRIES; tries++) {
      const metadata = { bucket: wanted.bucket, purpose: wanted.purpose };
      const made = await this.#api.insertEmptyObject(this.#bucket, objectName(owner, name), metadata, options);
      if (made.isErr()) return err(made.error);
      if (made.value === "not_found") {
        const bucket = await this.#createBucket(options);
        if (bucket.isErr()) return err(bucket.error);
        continue;
      }
      const found = await this.read(owner, name, options);
      if (found.isErr()) return err(found.error);
      if (found.value !== undefined) return ok(found.value);
    }
    return err(unavailable(`Too many concurrent calls for the volume '${name}'. Try again.`));
  }

  async read(owner: AccountId, name: VolumeName, options: CallOptions): ApiResult<Claim | undefined> {
    const found = await this.#api.object(this.#bucket, objectName(owner, name), options);
    return found.map((metadata) => (metadata === "not_found" ? undefined : readClaim(metadata)));
  }

  /** Deletes this claim, but not a later one. */
  async remove(owner: AccountId, name: VolumeName, { generation }: Claim, options: CallOptions): ApiResult<void> {
    const deleted = await this.#api.deleteObject(this.#bucket, objectName(owner, name), generation, options);
    return deleted.map(() => undefined);
  }

  /** Returns whether another account has a claim on the name. */
  async isHeldByOther(owner: AccountId, name: VolumeName, options: CallOptions): Promise<Result<boolean, Unavailable>> {
    const query = { prefix: `${name}/`, maxResults: 2, fields: "items(name),nextPageToken" };
    const page = await this.#api.objects(this.#bucket, query, options);
    return page.map((found) => {
      if (found === "not_found") return false;
      const own = objectName(owner, name);
      return (found.items ?? []).some((one) => one.name !== own);
    });
  }
}
