/**
 * Restores a volume from the trash: a conditional write claims the name, then the bucket is opened, then the volume
 * becomes live. An interrupted restore leaves the volume in the trash; the next restore continues it.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Conflict, conflict, type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { liveLifecycle } from "./bucket-settings.ts";
import type { VolumeDeps } from "./deps.ts";
import { holderOf, isInTrash, type VolumeRecord, volumeOf } from "./record.ts";
import type { ApiResult } from "./s3-calls.ts";

const notInTrash = (): NotFound => notFound("The trash does not contain this volume.");

/** Returns false if the bucket does not exist. */
export const reopenBucket = async (
  { api, marks }: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): ApiResult<boolean> => {
  // The lifecycle comes first: otherwise the trash rule could expire objects during a late restore.
  const lifecycle = await api.putLifecycle(record.id, liveLifecycle(), options);
  if (lifecycle.isErr()) return err(lifecycle.error);
  const opened = await api.deletePolicy(record.id, options);
  if (opened.isErr()) return err(opened.error);
  const marked = await marks.put(account, record, options);
  return marked.map(() => lifecycle.value !== "not_found" && opened.value !== "not_found");
};

/** Opens the bucket of a `restoring` volume and makes it live. Undefined if the bucket does not exist. */
export const finishRestore = async (
  deps: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): ApiResult<VolumeRecord | undefined> => {
  const opened = await reopenBucket(deps, account, record, options);
  if (opened.isErr()) return err(opened.error);
  if (!opened.value) {
    // The bucket was deleted by hand.
    const unmarked = await deps.marks.remove(account, record, options);
    if (unmarked.isErr()) return err(unmarked.error);
    return (await deps.records.drop(account, record.id, options)).map(() => undefined);
  }
  const ended = await deps.records.change(
    account,
    (all) => {
      const found = all.find((one) => one.id === record.id);
      if (found?.state !== "restoring") return { stop: found };
      const { deletedAt: _over, ...rest } = found;
      return { put: { ...rest, state: "live", reopen: true } };
    },
    options,
  );
  return ended.map((end) => ("record" in end ? end.record : end.stop));
};

export const restoreVolume = async (
  deps: VolumeDeps,
  owner: AccountId,
  id: string,
  options: CallOptions,
): Promise<Result<StoredVolume, NotFound | Conflict | Unavailable>> => {
  const account = accountDigest(owner);
  const begun = await deps.records.change<NotFound | Conflict | VolumeRecord>(
    account,
    (all) => {
      const found = all.find((one) => one.id === id);
      if (found === undefined || !isInTrash(found)) return { stop: notInTrash() };
      if (found.state === "restoring") return { stop: found };
      const holder = holderOf(all, found.name);
      if (holder?.state === "making")
        return { stop: conflict(`A volume '${found.name}' is being created. Try again in a moment.`) };
      if (holder !== undefined)
        return { stop: conflict(`The account has another volume '${found.name}'. Delete it first.`) };
      return { put: { ...found, state: "restoring" } };
    },
    options,
  );
  if (begun.isErr()) return err(begun.error);
  const end = "record" in begun.value ? begun.value.record : begun.value.stop;
  if ("kind" in end) return err(end);
  const back = await finishRestore(deps, account, end, options);
  if (back.isErr()) return err(back.error);
  return back.value?.state === "live" ? ok(volumeOf(back.value, owner)) : err(notInTrash());
};
