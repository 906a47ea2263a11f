/**
 * Moves a hidden volume to the trash. The mark on its record decides: from then on, the volume is in the trash. The
 * call then closes the bucket to all access and removes the name's mark. The next listing of volumes completes an
 * interrupted move.
 */
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import { type Conflict, conflict, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { closedPolicy, trashLifecycle } from "./bucket-settings.ts";
import type { VolumeDeps } from "./deps.ts";
import type { VolumeRecord } from "./record.ts";
import { outcomeOf } from "./records.ts";
import { reopenBucket } from "./restore-volume.ts";
import type { ApiResult } from "./s3-calls.ts";

/** Closes the bucket of a volume in the trash. Returns `restored` if a concurrent call restored the volume. */
export const finishTrash = (
  deps: VolumeDeps,
  account: string,
  marked: VolumeRecord,
  options: CallOptions,
): ApiResult<"closed" | "restored"> =>
  safeTry(async function* () {
    const { api, records, marks, config, clock } = deps;
    const { id } = marked;
    yield* await api.putPolicy(id, closedPolicy(config, id), options);
    yield* await api.putLifecycle(id, trashLifecycle(marked, clock.now()), options);
    yield* await marks.remove(account, marked, options);
    const ended = yield* await records.changeVolume(
      account,
      id,
      (now) => (now?.state === "deleting" ? { put: { ...now, state: "deleted" } } : { stop: now }),
      options,
    );
    const found = outcomeOf(ended);
    if (found?.state !== "live" && found?.state !== "restoring") return ok("closed" as const);
    // This call may have closed the bucket after the restore opened it.
    return reopenBucket(deps, account, found, options).map(() => "restored" as const);
  });

export const trashVolume = (
  deps: VolumeDeps,
  { owner, id, name }: StoredVolume,
  deletedAt: Timestamp,
  options: CallOptions,
): ResultAsync<void, Conflict | Unavailable> =>
  safeTry(async function* () {
    const noLongerHidden = conflict(`'${name}' is no longer being deleted.`);
    const account = accountDigest(owner);
    const marked = yield* await deps.records.changeVolume(
      account,
      id,
      (found) =>
        found?.state === "hidden" ? { put: { ...found, state: "deleting", deletedAt } } : { stop: undefined },
      options,
    );
    if ("stop" in marked) return err(noLongerHidden);
    const finished = yield* await finishTrash(deps, account, marked.record, options);
    return finished === "closed" ? ok(undefined) : err(noLongerHidden);
  });
