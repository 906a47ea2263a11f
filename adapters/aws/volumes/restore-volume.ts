/**
 * Restores a volume from the trash. A conditional write claims the name, then the bucket is opened, and then the volume
 * becomes live. An interrupted restore leaves the volume in the trash; the next one resumes.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Conflict, conflict, type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { liveLifecycle } from "./bucket-settings.ts";
import type { VolumeDeps } from "./deps.ts";
import { isInTrash, standingFor, type VolumeRecord, volumeOf } from "./record.ts";
import type { Answer } from "./s3-calls.ts";

const gone = (): NotFound => notFound("There is no such volume in the trash.");

/** False: the bucket no longer exists. */
export const openAgain = async (
  { api, marks }: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): Answer<boolean> => {
  // First, because otherwise the trash rule could expire the objects of a late restore.
  const kept = await api.putLifecycle(record.id, liveLifecycle(), options);
  if (kept.isErr()) return err(kept.error);
  const opened = await api.deletePolicy(record.id, options);
  if (opened.isErr()) return err(opened.error);
  const marked = await marks.put(account, record, options);
  return marked.map(() => kept.value !== "not_found" && opened.value !== "not_found");
};

/** Opens the bucket of a `restoring` volume and makes it live. Undefined: the volume is gone. */
export const bringBack = async (
  deps: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): Answer<VolumeRecord | undefined> => {
  const opened = await openAgain(deps, account, record, options);
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
      if (found === undefined || !isInTrash(found)) return { stop: gone() };
      if (found.state === "restoring") return { stop: found };
      const standing = standingFor(all, found.name);
      if (standing?.state === "making") return { stop: conflict(`A volume '${found.name}' is being made now.`) };
      if (standing !== undefined) return { stop: conflict(`You have a volume '${found.name}' now.`) };
      return { put: { ...found, state: "restoring" } };
    },
    options,
  );
  if (begun.isErr()) return err(begun.error);
  const end = "record" in begun.value ? begun.value.record : begun.value.stop;
  if ("kind" in end) return err(end);
  const back = await bringBack(deps, account, end, options);
  if (back.isErr()) return err(back.error);
  return back.value?.state === "live" ? ok(volumeOf(back.value, owner)) : err(gone());
};
