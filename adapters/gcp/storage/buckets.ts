/** The buckets of volumes: found by account and name, and brought from one state to the next. */
import type { AccountId } from "../../../core/domain/account.ts";
import { type Instant, millisOf } from "../../../core/domain/instant.ts";
import type { VolumeName } from "../../../core/domain/names.ts";
import { unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { Answer, StorageApi } from "./api.ts";
import { type BucketState, isOwned, type LabelChange, readBucket, stateLabels, type VolumeBucket } from "./bucket.ts";
import { accountPrefix, volumePrefix } from "./names.ts";

/** A hidden volume shows again after this, where its caller said nothing more. */
const HIDDEN_MS = 60_000;

const TRIES = 10;

/** What is to become of a bucket in the state that it is found in: another state, or nothing, with this result. */
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

  /** Of every state; the oldest first. */
  ofAccount(owner: AccountId, options: CallOptions): Answer<VolumeBucket[]> {
    return this.#list(owner, accountPrefix(owner), false, options);
  }

  /** Those of one volume name. */
  async ofVolume(owner: AccountId, name: VolumeName, options: CallOptions): Answer<VolumeBucket[]> {
    const found = await this.#list(owner, volumePrefix(owner, name), false, options);
    return found.map((all) => all.filter((one) => one.name === name));
  }

  /** Those that Cloud Storage keeps until their time is over. */
  deleted(owner: AccountId, prefix: string, options: CallOptions): Answer<VolumeBucket[]> {
    return this.#list(owner, prefix, true, options);
  }

  /** Undefined where it does not live, or is no bucket of the account's. */
  async get(owner: AccountId, id: string, options: CallOptions): Answer<VolumeBucket | undefined> {
    const found = await this.#api.bucket(id, options);
    return found.map((metadata) => {
      const bucket = metadata === "not_found" ? undefined : readBucket(metadata);
      return bucket !== undefined && isOwned(bucket, owner) ? bucket : undefined;
    });
  }

  /** Hidden for so long that it shows again. */
  isForgotten({ state, at }: VolumeBucket): boolean {
    return state === "hidden" && this.ageOf(at) >= HIDDEN_MS;
  }

  /** Milliseconds. */
  ageOf(at: Instant): number {
    return millisOf(this.#clock.now()) - millisOf(at);
  }

  /**
   * Brings a bucket to another state, on the condition that nothing has changed it since `decide` saw it; else it is
   * seen again. Gives back the bucket as it is then, or what `decide` stopped with. A change whose answer was lost is
   * known again by the call's id.
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
    return err(unavailable("Too many calls about one volume at once."));
  }

  async #list(owner: AccountId, prefix: string, softDeleted: boolean, options: CallOptions): Answer<VolumeBucket[]> {
    const found = await this.#api.buckets(prefix, softDeleted, options);
    return found.map((all) =>
      all
        .flatMap((metadata) => readBucket(metadata) ?? [])
        .filter((one) => isOwned(one, owner))
        .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),
    );
  }
}
