/**
 * `VolumeStore` on Cloud Storage: each volume has its own bucket, and the bucket's labels store owner and state
 * (`bucket.ts`).
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { conflict, notFound, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume, VolumeState, VolumeStore } from "../../../core/ports/volume-store.ts";
import { err, ok, ResultAsync, safeTry } from "../../../core/result.ts";
import type { Identities } from "../accounts/identities.ts";
import { type GcpRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import { type VolumeBucket, volumeOf } from "./bucket.ts";
import { softDeleteProblem } from "./bucket-settings.ts";
import { createVolume, dropAbandoned } from "./create-volume.ts";
import { current, upToDate } from "./find-bucket.ts";
import { signedGrant } from "./grants.ts";
import { claimsBucket } from "./names.ts";
import { listObjects, readObject, removeObject, statObject } from "./objects.ts";
import { inTrash, restoreVolume } from "./restore-volume.ts";
import { StorageApi } from "./storage-calls.ts";
import { finishTrash, trashVolume } from "./trash-volume.ts";
import { type VolumeStoreDeps, volumeCall } from "./volume-call.ts";

/**
 * Milliseconds after which a listing completes an interrupted move to the trash, or removes an interrupted creation.
 */
const ABANDONED_MS = { deleting: 60_000, making: 600_000 };

type Methods = Omit<VolumeStore, "uploadsInParts">;
type Args<M extends keyof Methods> = Parameters<Methods[M]>;
type Returns<M extends keyof Methods> = ReturnType<Methods[M]>;

export class GcpVolumes implements VolumeStore {
  readonly #deps: VolumeStoreDeps;
  readonly #finishing = new Map<string, Promise<void>>();

  constructor(deps: VolumeStoreDeps) {
    this.#deps = deps;
  }

  /**
   * Returns a message if deleted volumes are retained for too short a time; undefined if not, or if the operator
   * accepts it.
   */
  softDeleteProblem(): ResultAsync<string | undefined, Unavailable> {
    return softDeleteProblem(this.#api(), this.#deps.config);
  }

  /** Ok if Cloud Storage responds; makes one read-only call. */
  check(options?: CallOptions): ResultAsync<void, Unavailable> {
    const bucket = claimsBucket(this.#deps.config.project);
    return this.#api(options)
      .bucket(bucket)
      .map(() => undefined);
  }

  /** Resolves when no background work is left. */
  async idle(): Promise<void> {
    await Promise.all(this.#finishing.values());
  }

  find(...[owner, name, options]: Args<"find">): Returns<"find"> {
    const call = volumeCall(this.#deps, owner, options);
    return safeTry(async function* () {
      const bucket = yield* current(call, name);
      if (bucket?.state === "live") return ok<VolumeState>({ kind: "held", volume: volumeOf(bucket, owner) });
      if (bucket?.state === "hidden") return ok<VolumeState>({ kind: "hidden" });
      return ok<VolumeState>({ kind: (yield* call.claims.isHeldByOther(name)) ? "other_account" : "free" });
    });
  }

  list(...[owner, options]: Args<"list">): Returns<"list"> {
    const call = volumeCall(this.#deps, owner, options);
    const finish = (bucket: VolumeBucket) => this.#finish(bucket, owner);
    return safeTry(async function* () {
      const live = new Map<string, StoredVolume>();
      for (const one of yield* call.buckets.ofAccount()) {
        finish(one);
        const bucket = yield* upToDate(call, one);
        if (bucket?.state === "live" && !live.has(one.name)) live.set(one.name, volumeOf(bucket, owner));
      }
      return ok([...live.values()].sort((a, b) => (a.name < b.name ? -1 : 1)));
    });
  }

  create(...[owner, name, options]: Args<"create">): Returns<"create"> {
    return createVolume(volumeCall(this.#deps, owner, options), name).map((made) => {
      if (made.created) this.#grant(made.volume);
      return made;
    });
  }

  beginDelete(...[{ owner, id, name }, options]: Args<"beginDelete">): Returns<"beginDelete"> {
    const { buckets } = volumeCall(this.#deps, owner, options);
    const hidden = buckets.change(id, "hidden", (one) => one.state === "live" || buckets.isForgotten(one));
    return hidden.andThen(({ changed, bucket }) => {
      if (changed) return ok(undefined);
      return err(
        bucket?.state === "hidden"
          ? conflict(`'${name}' is being deleted.`)
          : notFound(`The volume '${name}' does not exist.`),
      );
    });
  }

  abortDelete(...[{ owner, id }, options]: Args<"abortDelete">): Returns<"abortDelete"> {
    const call = volumeCall(this.#deps, owner, options);
    return safeTry(async function* () {
      const { bucket } = yield* call.buckets.change(id, "live", ({ state }) => state === "hidden");
      // A move to the trash failed midway: restore the volume, unless another one has taken its name.
      if (bucket === undefined || !inTrash(bucket)) return ok(undefined);
      const restored = await restoreVolume(call, id);
      return restored.isErr() && restored.error.kind === "unavailable" ? err(restored.error) : ok(undefined);
    });
  }

  moveToTrash(...[volume, deletedAt, options]: Args<"moveToTrash">): Returns<"moveToTrash"> {
    return trashVolume(volumeCall(this.#deps, volume.owner, options), volume, deletedAt);
  }

  trash(...[owner, options]: Args<"trash">): Returns<"trash"> {
    const { buckets } = volumeCall(this.#deps, owner, options);
    return ResultAsync.combine([buckets.ofAccount(), buckets.deleted()]).map((all) =>
      all
        .flat()
        .filter(inTrash)
        .map(({ id, name, deletedAt }) => ({ id, name, deletedAt })),
    );
  }

  restore(...[owner, id, options]: Args<"restore">): Returns<"restore"> {
    return restoreVolume(volumeCall(this.#deps, owner, options), id);
  }

  objects(...[volume, query, options]: Args<"objects">): Returns<"objects"> {
    return listObjects(this.#api(options), volume, query);
  }

  stat(...[volume, path, options]: Args<"stat">): Returns<"stat"> {
    return statObject(this.#api(options), volume, path);
  }

  read(...[volume, path, options]: Args<"read">): Returns<"read"> {
    return readObject(this.#api(options), volume, path);
  }

  remove(...[volume, path, options]: Args<"remove">): Returns<"remove"> {
    return removeObject(this.#api(options), volume, path);
  }

  grantUpload(...[volume, path, until]: Args<"grantUpload">): Returns<"grantUpload"> {
    return new ResultAsync(signedGrant(this.#deps, "write", volume, path, until));
  }

  grantDownload(...[volume, path, until]: Args<"grantDownload">): Returns<"grantDownload"> {
    return new ResultAsync(signedGrant(this.#deps, "read", volume, path, until));
  }

  #api({ signal }: CallOptions = {}): StorageApi {
    return new StorageApi(this.#deps, signal);
  }

  /** Lets the account's services use a new volume, in the background: a grant takes minutes to act. A rollout repeats it. */
  #grant({ id, owner }: StoredVolume): void {
    const { identities, logger } = this.#deps;
    if (identities === undefined) return;
    const granted = identities.ensure(owner).andThen((email) => identities.allow(id, email));
    const ended = Promise.resolve(granted)
      .catch((cause: unknown) => logger.error("bug while granting access to a volume", { volume: id, cause }))
      .finally(() => this.#finishing.delete(id));
    this.#finishing.set(
      id,
      ended.then(() => undefined),
    );
  }

  /** Completes interrupted calls in the background. */
  #finish(bucket: VolumeBucket, owner: AccountId): void {
    const { logger } = this.#deps;
    const { id, state, at } = bucket;
    if (state !== "deleting" && state !== "making") return;
    const call = volumeCall(this.#deps, owner);
    if (call.buckets.ageOf(at) < ABANDONED_MS[state] || this.#finishing.has(id)) return;
    const finish = async (): Promise<void> => {
      try {
        const end = await (state === "deleting" ? finishTrash(call, bucket) : dropAbandoned(call, bucket));
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

/** @param identities lets services use a new volume before the first deploy that mounts it */
export const createGcpVolumes = (
  config: GcpConfig,
  clients: ClientSource,
  runtime: GcpRuntimeDeps,
  identities?: Identities,
): GcpVolumes => {
  const [call, storage] = [googleCalls(runtime), () => clients("storage")];
  return new GcpVolumes({ ...runtime, config, project: config.project, storage, call, identities });
};
