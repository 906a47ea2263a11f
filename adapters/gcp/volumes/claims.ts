/**
 * Claims decide which bucket a volume's name refers to when calls race. A claim is an empty object, one per account and
 * name. Of several racing calls, only one creates it (`ifGenerationMatch=0`). A call that finds a claim completes the
 * claimed creation or restore, so all racing calls use the same bucket. Only the buckets define the live volumes, so a
 * lost claim loses no data. https://cloud.google.com/storage/docs/request-preconditions
 */
import type { FileMetadata } from "@google-cloud/storage";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Instant, instantOfMillis, parseInstant } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { unavailable } from "../../../core/errors.ts";
import { err, ok, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import type { StorageApi } from "./storage-calls.ts";

export interface Claim {
  readonly bucket: string;
  readonly purpose: "make" | "restore";
  /** Creation time, by Cloud Storage's clock. */
  readonly at: Instant;
  readonly generation: string;
}

const readClaim = ({ metadata = {}, generation, timeCreated }: FileMetadata): Claim => ({
  bucket: String(metadata["bucket"] ?? ""),
  purpose: metadata["purpose"] === "restore" ? "restore" : "make",
  at: parseInstant(timeCreated ?? "") ?? instantOfMillis(0),
  generation: String(generation ?? ""),
});

const TRIES = 10;

/** The claims of an account. */
export class Claims {
  readonly #api: StorageApi;
  readonly #owner: AccountId;
  readonly #bucket: string;
  readonly #createBucket: () => ApiResult<void>;

  /** @param createBucket creates the claims bucket if it does not exist */
  constructor(api: StorageApi, owner: AccountId, bucket: string, createBucket: () => ApiResult<void>) {
    this.#api = api;
    this.#owner = owner;
    this.#bucket = bucket;
    this.#createBucket = createBucket;
  }

  /** Returns the existing claim on the name, or a new one. */
  take(name: VolumeName, { bucket, purpose }: Pick<Claim, "bucket" | "purpose">): ApiResult<Claim> {
    const insert = () => this.#api.insertEmptyObject(this.#bucket, this.#object(name), { bucket, purpose });
    const createBucket = this.#createBucket;
    const read = () => this.read(name);
    return safeTry(async function* () {
      for (let tries = 0; tries < TRIES; tries++) {
        if ((yield* insert()) === "not_found") {
          yield* createBucket();
          continue;
        }
        const claim = yield* read();
        if (claim !== undefined) return ok(claim);
      }
      return err(unavailable(`Too many concurrent calls for the volume '${name}'. Try again.`));
    });
  }

  read(name: VolumeName): ApiResult<Claim | undefined> {
    const found = this.#api.object(this.#bucket, this.#object(name));
    return found.map((metadata) => (metadata === "not_found" ? undefined : readClaim(metadata)));
  }

  /** Deletes this claim, but not a later one. */
  remove(name: VolumeName, { generation }: Claim): ApiResult<void> {
    return this.#api.deleteObject(this.#bucket, this.#object(name), generation).map(() => undefined);
  }

  /** Returns whether another account has a claim on the name. */
  isHeldByOther(name: VolumeName): ApiResult<boolean> {
    const query = { prefix: `${name}/`, maxResults: 2, fields: "items(name),nextPageToken" };
    return this.#api.objects(this.#bucket, query).map((page) => {
      if (page === "not_found") return false;
      return (page.items ?? []).some((one) => one.name !== this.#object(name));
    });
  }

  #object(name: VolumeName): string {
    return `${name}/${accountDigest(this.#owner)}`;
  }
}
