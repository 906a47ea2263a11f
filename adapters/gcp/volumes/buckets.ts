/** Finds volume buckets by account and name, and changes their state. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { unavailable } from "../../../core/errors.ts";
import type { Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, okAsync, safeTry } from "../../../core/result.ts";
import { type BucketState, isOwned, type LabelChange, readBucket, stateLabels, type VolumeBucket } from "./bucket.ts";
import { accountPrefix, volumePrefix } from "./names.ts";
import type { ApiResult, StorageApi } from "./storage-calls.ts";

/** Milliseconds after which a hidden volume reappears if its caller neither completes nor aborts the delete. */
const HIDDEN_MS = 60_000;

const TRIES = 10;

/** The bucket after `change`, and whether this call changed it. */
type Change =
  | { readonly changed: true; readonly bucket: VolumeBucket }
  | { readonly changed: false; readonly bucket: VolumeBucket | undefined };

export class Buckets {
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

  /** Returns the account's buckets in every state, oldest first. */
  ofAccount(): ApiResult<VolumeBucket[]> {
    return this.#list(accountPrefix(this.#owner), false);
  }

  /** Returns the buckets of one volume name. */
  ofVolume(name: VolumeName): ApiResult<VolumeBucket[]> {
    const found = this.#list(volumePrefix(this.#owner, name), false);
    return found.map((all) => all.filter((one) => one.name === name));
  }

  /** Returns the account's soft-deleted buckets that Cloud Storage still retains. */
  deleted(prefix = accountPrefix(this.#owner)): ApiResult<VolumeBucket[]> {
    return this.#list(prefix, true);
  }

  /** Undefined if the bucket is deleted or does not belong to the account. */
  get(id: string): ApiResult<VolumeBucket | undefined> {
    return this.#api.bucket(id).map((metadata) => {
      const bucket = metadata === "not_found" ? undefined : readBucket(metadata);
      return bucket !== undefined && isOwned(bucket, this.#owner) ? bucket : undefined;
    });
  }

  /** True if the bucket has been hidden for so long that it must reappear. */
  isForgotten({ state, at }: VolumeBucket): boolean {
    return state === "hidden" && this.ageOf(at) >= HIDDEN_MS;
  }

  /** Age in milliseconds. */
  ageOf(at: Instant): number {
    return millisOf(this.#clock.now()) - millisOf(at);
  }

  /**
   * Changes the state of a bucket that meets the condition. Reads and checks the bucket again if it has changed since
   * the check. If the response was lost, the call's id in the labels shows that the change was applied.
   */
  change(
    id: string,
    to: BucketState,
    condition: (bucket: VolumeBucket) => boolean,
    labelsOf: (bucket: VolumeBucket) => LabelChange = () => ({}),
  ): ApiResult<Change> {
    const call = this.#ids.id();
    const attempt = (): ApiResult<Change | undefined> =>
      this.get(id).andThen((bucket): ApiResult<Change | undefined> => {
        if (bucket?.call === call) return okAsync({ changed: true, bucket });
        if (bucket === undefined || !condition(bucket)) return okAsync({ changed: false, bucket });
        const labels = { ...stateLabels(to, call, this.#clock.now()), ...labelsOf(bucket) };
        return this.#api.patchBucket(id, bucket.metageneration, { labels }).map((patched) => {
          const changed = typeof patched === "string" ? undefined : readBucket(patched);
          return changed && { changed: true, bucket: changed };
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
