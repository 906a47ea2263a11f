/** Finds volume buckets by account and name, and changes their state. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type BucketState, isOwned, type LabelChange, readBucket, stateLabels, type VolumeBucket } from "./bucket.ts";
import { accountPrefix, volumePrefix } from "./names.ts";
import type { ApiResult, StorageApi } from "./storage-calls.ts";

/** Milliseconds after which a hidden volume reappears if its caller neither completes nor aborts the delete. */
const HIDDEN_MS = 60_000;

const TRIES = 10;

/** The decision of `change` with a bucket in its current state: change the state, or stop with this result. */
export type Decision<T> = { readonly to: BucketState; readonly labels?: LabelChange } | { readonly stop: T };

export class Buckets {
  readonly #api: StorageApi;
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor(api: StorageApi, clock: Clock, ids: Ids) {
    this.#api = api;
    this.#clock = clock;
    this.#ids = ids;
  }

  /** Returns buckets in every state, oldest first. */
  ofAccount(owner: AccountId, options: CallOptions): ApiResult<VolumeBucket[]> {
    return this.#list(owner, accountPrefix(owner), false, options);
  }

  /** Returns the buckets of one volume name. */
  async ofVolume(owner: AccountId, name: VolumeName, options: CallOptions): ApiResult<VolumeBucket[]> {
    const found = await this.#list(owner, volumePrefix(owner, name), false, options);
    return found.map((all) => all.filter((one) => one.name === name));
  }

  /** Returns soft-deleted buckets that Cloud Storage still retains. */
  deleted(owner: AccountId, prefix: string, options: CallOptions): ApiResult<VolumeBucket[]> {
    return this.#list(owner, prefix, true, options);
  }

  /** Undefined if the bucket is deleted or does not belong to the account. */
  async get(owner: AccountId, id: string, options: CallOptions): ApiResult<VolumeBucket | undefined> {
    const found = await this.#api.bucket(id, options);
    return found.map((metadata) => {
      const bucket = metadata === "not_found" ? undefined : readBucket(metadata);
      return bucket !== undefined && isOwned(bucket, owner) ? bucket : undefined;
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
   * Changes a bucket's state, unless the bucket has changed since `decide` saw it; then reads it again. Returns the
   * changed bucket, or the value with which `decide` stopped. If the response was lost, the call's id in the labels
   * shows that the change was applied.
   */
  async change<T>(
    owner: AccountId,
    id: string,
    decide: (bucket: VolumeBucket | undefined) => Decision<T>,
    options: CallOptions,
  ): Promise<Result<{ readonly bucket: VolumeBucket } | { readonly stop: T }, ReturnType<typeof unavailable>>> {
    const call = this.#ids.id();
    for (let tries = 0; tries < TRIES; tries++) {
      const found = await this.get(owner, id, options);
      if (found.isErr()) return err(found.error);
      if (found.value?.call === call) return ok({ bucket: found.value });
      const decision = decide(found.value);
      if ("stop" in decision) return ok(decision);
      const labels = { ...stateLabels(decision.to, call, this.#clock.now()), ...decision.labels };
      const { metageneration } = found.value as VolumeBucket;
      const patched = await this.#api.patchBucket(id, metageneration, { labels }, options);
      if (patched.isErr()) return err(patched.error);
      const bucket = typeof patched.value === "string" ? undefined : readBucket(patched.value);
      if (bucket !== undefined) return ok({ bucket });
    }
    return err(unavailable("Too many concurrent calls for the volume. Try again."));
  }

  async #list(owner: AccountId, prefix: string, softDeleted: boolean, options: CallOptions): ApiResult<VolumeBucket[]> {
    const found = await this.#api.buckets(prefix, softDeleted, options);
    return found.map((all) =>
      all
        .flatMap((metadata) => readBucket(metadata) ?? [])
        .filter((one) => isOwned(one, owner))
        .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),
    );
  }
}
