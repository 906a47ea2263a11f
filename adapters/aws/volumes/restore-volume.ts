/**
 * Restores a volume from the trash: a conditional write claims the name, then the bucket is opened, then the volume
 * becomes live. An interrupted restore leaves the volume in the trash; the next restore continues it.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Conflict, conflict, type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { liveLifecycle } from "./bucket-settings.ts";
import type { VolumeDeps } from "./deps.ts";
import { holderOf, isInTrash, type VolumeRecord, volumeOf } from "./record.ts";
import { type Decision, outcomeOf } from "./records.ts";
import type { ApiResult } from "./s3-calls.ts";

const notInTrash = (): NotFound => notFound("The trash does not contain this volume.");

/** Returns false if the bucket does not exist. */
export const reopenBucket = (
  { api, marks }: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): ApiResult<boolean> =>
  safeTry(async function* () {
    // The lifecycle comes first: otherwise the trash rule could expire objects during a late restore.
    const lifecycle = yield* await api.putLifecycle(record.id, liveLifecycle(), options);
    const opened = yield* await api.deletePolicy(record.id, options);
    yield* await marks.put(account, record, options);
    return ok(lifecycle !== "not_found" && opened !== "not_found");
  });

/** Opens the bucket of a `restoring` volume and makes it live. Undefined if the bucket does not exist. */
export const finishRestore = (
  deps: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): ApiResult<VolumeRecord | undefined> =>
  safeTry(async function* () {
    const { marks, records } = deps;
    if (!(yield* await reopenBucket(deps, account, record, options))) {
      // The bucket was deleted by hand.
      yield* await marks.remove(account, record, options);
      return records.drop(account, record.id, options).map(() => undefined);
    }
    const decide = (found: VolumeRecord | undefined): Decision<VolumeRecord | undefined> => {
      if (found?.state !== "restoring") return { stop: found };
      const { deletedAt: _over, ...rest } = found;
      return { put: { ...rest, state: "live", reopen: true } };
    };
    return records.changeVolume(account, record.id, decide, options).map(outcomeOf);
  });

export const restoreVolume = (
  deps: VolumeDeps,
  owner: AccountId,
  id: string,
  options: CallOptions,
): ResultAsync<StoredVolume, NotFound | Conflict | Unavailable> =>
  safeTry(async function* () {
    const account = accountDigest(owner);
    const decide = (
      found: VolumeRecord | undefined,
      all: readonly VolumeRecord[],
    ): Decision<NotFound | Conflict | VolumeRecord> => {
      if (found === undefined || !isInTrash(found)) return { stop: notInTrash() };
      if (found.state === "restoring") return { stop: found };
      const holder = holderOf(all, found.name);
      if (holder?.state === "making")
        return { stop: conflict(`A volume '${found.name}' is being created. Try again in a moment.`) };
      if (holder !== undefined)
        return { stop: conflict(`The account has another volume '${found.name}'. Delete it first.`) };
      return { put: { ...found, state: "restoring" } };
    };
    const begun = outcomeOf(yield* await deps.records.changeVolume(account, id, decide, options));
    if ("kind" in begun) return err(begun);
    const back = yield* await finishRestore(deps, account, begun, options);
    return back?.state === "live" ? ok(volumeOf(back, owner)) : err(notInTrash());
  });
