/**
 * `VolumeStore` on Cloud Storage: each volume has its own bucket, and the bucket's labels store owner and state
 * (`bucket.ts`).
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { conflict, notFound, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume, VolumeState, VolumeStore } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { type GcpRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import { type VolumeBucket, volumeOf } from "./bucket.ts";
import { createClaimsBucket, softDeleteProblem } from "./bucket-settings.ts";
import { Buckets } from "./buckets.ts";
import { Claims } from "./claims.ts";
import { createVolume, dropAbandoned } from "./create-volume.ts";
import type { VolumeDeps } from "./deps.ts";
import { current, reveal, upToDate } from "./find-bucket.ts";
import { signedGrant } from "./grants.ts";
import { accountPrefix, claimsBucket } from "./names.ts";
import { listObjects, readObject, removeObject, statObject } from "./objects.ts";
import { inTrash, restoreVolume } from "./restore-volume.ts";
import { StorageApi } from "./storage-calls.ts";
import { finishTrash, trashVolume } from "./trash-volume.ts";

/**
 * Milliseconds after which a listing completes an interrupted move to the trash, or removes an interrupted creation.
 */
const ABANDONED_MS = { deleting: 60_000, making: 600_000 };

type Methods = Omit<VolumeStore, "uploadsInParts">;
type Args<M extends keyof Methods> = Parameters<Methods[M]>;
type Returns<M extends keyof Methods> = ReturnType<Methods[M]>;

const settled = <T, E>(work: Promise<Result<T, E>>): ResultAsync<T, E> => new ResultAsync(work);

export class GcpVolumes implements VolumeStore {
  readonly #deps: VolumeDeps;
  readonly #finishing = new Map<string, Promise<void>>();

  constructor(deps: VolumeDeps) {
    this.#deps = deps;
  }

  /**
   * Returns a message if deleted volumes are retained for too short a time; undefined if not, or if the operator
   * accepts it.
   */
  softDeleteProblem(options: CallOptions = {}): ResultAsync<string | undefined, Unavailable> {
    return softDeleteProblem(this.#deps.api, this.#deps.config, options);
  }

  /** Ok if Cloud Storage responds; makes one read-only call. */
  check(options: CallOptions = {}): ResultAsync<void, Unavailable> {
    const { api, config } = this.#deps;
    return settled(api.bucket(claimsBucket(config.project), options)).map(() => undefined);
  }

  /** Resolves when no background work is left. */
  async idle(): Promise<void> {
    await Promise.all(this.#finishing.values());
  }

  find(...[owner, name, options = {}]: Args<"find">): Returns<"find"> {
    const look = async (): Promise<Result<VolumeState, Unavailable>> => {
      const found = await current(this.#deps, owner, name, options);
      if (found.isErr()) return err(found.error);
      if (found.value?.state === "live") return ok({ kind: "held", volume: volumeOf(found.value, owner) });
      if (found.value?.state === "hidden") return ok({ kind: "hidden" });
      const heldByOther = await this.#deps.claims.isHeldByOther(owner, name, options);
      return heldByOther.map((taken) => ({ kind: taken ? "elsewhere" : "free" }));
    };
    return settled(look());
  }

  list(...[owner, options = {}]: Args<"list">): Returns<"list"> {
    const list = async (): Promise<Result<readonly StoredVolume[], Unavailable>> => {
      const found = await this.#deps.buckets.ofAccount(owner, options);
      if (found.isErr()) return err(found.error);
      const live = new Map<string, StoredVolume>();
      for (const one of found.value) {
        this.#finish(owner, one);
        const bucket = await upToDate(this.#deps, owner, one, options);
        if (bucket.isErr()) return err(bucket.error);
        if (bucket.value?.state === "live" && !live.has(one.name)) live.set(one.name, volumeOf(bucket.value, owner));
      }
      return ok([...live.values()].sort((a, b) => (a.name < b.name ? -1 : 1)));
    };
    return settled(list());
  }

  create(...[owner, name, options = {}]: Args<"create">): Returns<"create"> {
    return settled(createVolume(this.#deps, owner, name, options));
  }

  beginDelete(...[{ owner, id, name }, options = {}]: Args<"beginDelete">): Returns<"beginDelete"> {
    const { buckets } = this.#deps;
    const decide = (bucket: VolumeBucket | undefined) =>
      bucket?.state === "live" || (bucket !== undefined && buckets.isForgotten(bucket))
        ? ({ to: "hidden" } as const)
        : { stop: bucket?.state };
    const hidden = settled(buckets.change(owner, id, decide, options));
    return hidden.andThen((end) => {
      if ("bucket" in end) return ok(undefined);
      return err(
        end.stop === "hidden"
          ? conflict(`'${name}' is being deleted.`)
          : notFound(`The volume '${name}' does not exist.`),
      );
    });
  }

  abortDelete(...[{ owner, id }, options = {}]: Args<"abortDelete">): Returns<"abortDelete"> {
    const show = async (): Promise<Result<void, Unavailable>> => {
      const shown = await reveal(this.#deps, owner, id, () => true, options);
      if (shown.isErr()) return err(shown.error);
      // A move to the trash failed midway: restore the volume, unless another one has taken its name.
      if (shown.value === undefined || !inTrash(shown.value)) return ok(undefined);
      const back = await restoreVolume(this.#deps, owner, id, options);
      return back.isErr() && back.error.kind === "unavailable" ? err(back.error) : ok(undefined);
    };
    return settled(show());
  }

  moveToTrash(...[volume, deletedAt, options = {}]: Args<"moveToTrash">): Returns<"moveToTrash"> {
    return settled(trashVolume(this.#deps, volume, deletedAt, options));
  }

  trash(...[owner, options = {}]: Args<"trash">): Returns<"trash"> {
    const { buckets } = this.#deps;
    const living = settled(buckets.ofAccount(owner, options));
    const deleted = settled(buckets.deleted(owner, accountPrefix(owner), options));
    return ResultAsync.combine([living, deleted]).map((all) =>
      all
        .flat()
        .filter(inTrash)
        .map(({ id, name, deletedAt }) => ({ id, name, deletedAt })),
    );
  }

  restore(...[owner, id, options = {}]: Args<"restore">): Returns<"restore"> {
    return settled(restoreVolume(this.#deps, owner, id, options));
  }

  objects(...[volume, query, options = {}]: Args<"objects">): Returns<"objects"> {
    return settled(listObjects(this.#deps.api, volume, query, options));
  }

  stat(...[volume, path, options = {}]: Args<"stat">): Returns<"stat"> {
    return settled(statObject(this.#deps.api, volume, path, options));
  }

  read(...[volume, path, options = {}]: Args<"read">): Returns<"read"> {
    return settled(readObject(this.#deps.api, volume, path, options));
  }

  remove(...[volume, path, options = {}]: Args<"remove">): Returns<"remove"> {
    return settled(removeObject(this.#deps.api, volume, path, options));
  }

  grantUpload(...[volume, path, until]: Args<"grantUpload">): Returns<"grantUpload"> {
    return settled(signedGrant(this.#deps.api, this.#deps, "write", volume, path, until));
  }

  grantDownload(...[volume, path, until]: Args<"grantDownload">): Returns<"grantDownload"> {
    return settled(signedGrant(this.#deps.api, this.#deps, "read", volume, path, until));
  }

  /** Completes interrupted calls in the background. */
  #finish(owner: AccountId, bucket: VolumeBucket): void {
    const { buckets, logger } = this.#deps;
    const { id, state, at } = bucket;
    if (state !== "deleting" && state !== "making") return;
    if (buckets.ageOf(at) < ABANDONED_MS[state] || this.#finishing.has(id)) return;
    const finish = async (): Promise<void> => {
      try {
        const act = state === "deleting" ? finishTrash : dropAbandoned;
        const end: Result<unknown, Unavailable> = await act(this.#deps, owner, bucket, {});
        if (end.isErr())
          logger.warn("cleanup of an interrupted volume call failed; the next listing retries it", { volume: id });
      } catch (cause) {
        logger.error("bug while cleaning up an interrupted volume call", { volume: id, cause });
      } finally {
        this.#finishing.delete(id);
      }
    };
    this.#finishing.set(id, finish());
  }
}

export const createGcpVolumes = (config: GcpConfig, clients: ClientSource, runtime: GcpRuntimeDeps): GcpVolumes => {
  const call = googleCalls(runtime);
  const api = new StorageApi({ project: config.project, storage: () => clients("storage"), call });
  const claims = new Claims(api, claimsBucket(config.project), (options) => createClaimsBucket(api, config, options));
  const buckets = new Buckets(api, runtime.clock, runtime.ids);
  return new GcpVolumes({ ...runtime, api, buckets, claims, config });
};
