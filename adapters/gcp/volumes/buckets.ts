/** Reads and changes an account's volume records. The labels of the account's buckets store the records. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Instant, millisOf, type Timestamp } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { unavailable } from "../../../core/errors.ts";
import type { Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, okAsync, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import type { Change, VolumeRecords } from "../../cloud/volumes/driver.ts";
import { type BucketState, isOwned, readBucket, stateLabels, trashLabels, type VolumeBucket } from "./bucket.ts";
import { accountPrefix, volumePrefix } from "./names.ts";
import type { StorageApi } from "./storage-calls.ts";

const TRIES = 10;

export class Buckets implements VolumeRecords<VolumeBucket> {
  readonly #api: StorageApi;
  readonly #owner: AccountId;
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor(api: StorageApi, owner: AccountId, clock: Clock, ids: Ids) {
    this.#api = api;
    this.#owner = owner;
    this.#clock = clock;
    this.#ids = ids;
  }

  /** Returns the account's buckets in every state, or those of one volume name, oldest first. */
  all(name?: VolumeName): ApiResult<VolumeBucket[]> {
    if (name === undefined) return this.#list(accountPrefix(this.#owner), false);
    const found = this.#list(volumePrefix(this.#owner, name), false);
    return found.map((all) => all.filter((one) => one.name === name));
  }

  /** Returns the account's soft-deleted buckets that Cloud Storage still retains. */
  deleted(prefix = accountPrefix(this.#owner)): ApiResult<VolumeBucket[]> {
    return this.#list(prefix, true);
  }

  /** Returns undefined if the bucket is deleted or does not belong to the account. */
  get(id: string): ApiResult<VolumeBucket | undefined> {
    return this.#api.bucket(id).map((metadata) => {
      const bucket = metadata === "not_found" ? undefined : readBucket(metadata);
      return bucket !== undefined && isOwned(bucket, this.#owner) ? bucket : undefined;
    });
  }

  readonly ageOf = (at: Instant): number => millisOf(this.#clock.now()) - millisOf(at);

  change(
    id: string,
    to: BucketState,
    condition: (bucket: VolumeBucket) => boolean,
    deletedAt?: Timestamp,
  ): ApiResult<Change<VolumeBucket>> {
    const call = this.#ids.id();
    const attempt = (): ApiResult<Change<VolumeBucket> | undefined> =>
      this.get(id).andThen((record): ApiResult<Change<VolumeBucket> | undefined> => {
        if (record?.call === call) return okAsync({ changed: true, record });
        if (record === undefined || !condition(record)) return okAsync({ changed: false, record });
        const labels = {
          ...stateLabels(to, call, this.#clock.now()),
          // Record when the volume was hidden: a restore undeletes the objects that were deleted since then.
          ...(deletedAt === undefined ? {} : trashLabels(record.updated, deletedAt)),
        };
        return this.#api.patchBucket(id, record.metageneration, { labels }).map((patched) => {
          const changed = typeof patched === "string" ? undefined : readBucket(patched);
          return changed && { changed: true, record: changed };
        });
      });
    return safeTry(async function* () {
      for (let tries = 0; tries < TRIES; tries++) {
        const change = yield* attempt();
        if (change !== undefined) return ok(change);
      }
      return err(unavailable("Too many concurrent calls for the volume. Try again."));
    });
  }

  #list(prefix: string, softDeleted: boolean): ApiResult<VolumeBucket[]> {
    return this.#api.buckets(prefix, softDeleted).map((all) =>
      all
        .flatMap((metadata) => readBucket(metadata) ?? [])
        .filter((one) => isOwned(one, this.#owner))
        .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),
    );
  }
}
