/**
 * Moves a hidden volume to the trash. The mark on its record decides: from then on, the volume is in the trash. The
 * call then closes the bucket to all access and removes the name's mark. The next listing of volumes completes an
 * interrupted move.
 */
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import { type Conflict, conflict, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { closedPolicy, trashLifecycle } from "./bucket-settings.ts";
import type { VolumeDeps } from "./deps.ts";
import type { VolumeRecord } from "./record.ts";
import { reopenBucket } from "./restore-volume.ts";
import type { ApiResult } from "./s3-calls.ts";

/** Closes the bucket of a volume in the trash. Returns `restored` if a concurrent call restored the volume. */
export const finishTrash = async (
  deps: VolumeDeps,
  account: string,
  marked: VolumeRecord,
  options: CallOptions,
): ApiResult<"closed" | "restored"> => {
  const { api, records, marks, config, clock } = deps;
  const { id } = marked;
  const steps = [
    () => api.putPolicy(id, closedPolicy(config, id), options),
    () => api.putLifecycle(id, trashLifecycle(marked, clock.now()), options),
    () => marks.remove(account, marked, options),
  ];
  for (const step of steps) {
    const done = await step();
    if (done.isErr()) return err(done.error);
  }
  const ended = await records.change(
    account,
    (all) => {
      const found = all.find((one) => one.id === id);
      return found?.state === "deleting" ? { put: { ...found, state: "deleted" } } : { stop: found };
    },
    options,
  );
  if (ended.isErr()) return err(ended.error);
  const found = "record" in ended.value ? ended.value.record : ended.value.stop;
  if (found?.state !== "live" && found?.state !== "restoring") return ok("closed");
  // This call may have closed the bucket after the restore opened it.
  return (await reopenBucket(deps, account, found, options)).map(() => "restored" as const);
};

export const trashVolume = async (
  deps: VolumeDeps,
  { owner, id, name }: StoredVolume,
  deletedAt: Timestamp,
  options: CallOptions,
): Promise<Result<void, Conflict | Unavailable>> => {
  const noLongerHidden = conflict(`'${name}' is no longer being deleted.`);
  const account = accountDigest(owner);
  const marked = await deps.records.change(
    account,
    (all) => {
      const found = all.find((one) => one.id === id);
      return found?.state === "hidden" ? { put: { ...found, state: "deleting", deletedAt } } : { stop: undefined };
    },
    options,
  );
  if (marked.isErr()) return err(marked.error);
  if ("stop" in marked.value) return err(noLongerHidden);
  const finished = await finishTrash(deps, account, marked.value.record, options);
  if (finished.isErr()) return err(finished.error);
  return finished.value === "closed" ? ok(undefined) : err(noLongerHidden);
};
