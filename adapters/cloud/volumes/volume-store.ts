/**
 * `VolumeStore` on a cloud's object storage: each volume has its own bucket, and a record with its state. Every change
 * of the state is one conditional write of the record, so it succeeds in only one of several concurrent calls:
 *
 * `making` → `live` ⇄ `hidden` → `deleting` (the trash) → `restoring` → `live`
 *
 * If a call stops between two changes, the next listing of the account's volumes does the remaining work.
 */
import mime from "mime";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { deletionCancelled, isBeingDeleted } from "../../../core/domain/volumes/conflicts.ts";
import { notFound } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume, VolumeState, VolumeStore } from "../../../core/ports/volume-store.ts";
import { err, ok, safeTry } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type BackgroundWork, dueTasks } from "./background-work.ts";
import { createVolume } from "./create-volume.ts";
import type { SignUrl, VolumeDriver } from "./driver.ts";
import { holder, isForgotten, revealIfForgotten } from "./find-volume.ts";
import { listObjects, orNotFound, statObject } from "./objects.ts";
import { isInTrash, type VolumeRecord, volumeOf } from "./record.ts";
import { restoreVolume } from "./restore-volume.ts";

export interface CloudVolumesDeps<R extends VolumeRecord> {
  readonly driverOf: (owner: AccountId, options?: CallOptions) => VolumeDriver<R>;
  readonly sign: SignUrl;
  readonly background: BackgroundWork;
}

export const createCloudVolumes = <R extends VolumeRecord>({
  driverOf,
  sign,
  background,
}: CloudVolumesDeps<R>): Omit<VolumeStore, "uploadsInParts"> => {
  /** Completes interrupted calls and deletes expired trash in the background, one volume at a time. */
  const finish = (owner: AccountId, all: readonly R[]): void =>
    background.start(accountDigest(owner), dueTasks(all, driverOf(owner).dueWork));

  return {
    find: (owner, name, options) =>
      safeTry(async function* () {
        const driver = driverOf(owner, options);
        const found = yield* holder(driver.records, name);
        if (found?.state === "live") {
          // A restored volume may need work before it is usable, and a page needs the bucket's CORS rules. Other work
          // waits for `list`.
          finish(owner, [found]);
          return ok<VolumeState>({ kind: "held", volume: volumeOf(found, owner) });
        }
        if (found?.state === "hidden") return ok<VolumeState>({ kind: "hidden" });
        return ok<VolumeState>({ kind: (yield* driver.isHeldByOther(name)) ? "other_account" : "free" });
      }),

    list: (owner, options) =>
      safeTry(async function* () {
        const { records } = driverOf(owner, options);
        const all = yield* records.all();
        finish(owner, all);
        const live = new Map<string, StoredVolume>();
        for (const one of all) {
          const record = yield* revealIfForgotten(records, one);
          if (record?.state === "live" && !live.has(one.name)) live.set(one.name, volumeOf(record, owner));
        }
        return ok([...live.values()].sort((a, b) => (a.name < b.name ? -1 : 1)));
      }),

    create: (owner, name, options) =>
      createVolume(driverOf(owner, options), name, options?.signal).map(({ record, created }) => ({
        volume: volumeOf(record, owner),
        created,
      })),

    beginDelete: ({ owner, id, name }, options) => {
      const { records } = driverOf(owner, options);
      const canHide = (one: R): boolean => one.state === "live" || isForgotten(records)(one);
      return records.change(id, "hidden", canHide).andThen(({ changed, record }) => {
        if (changed) return ok(undefined);
        return err(
          record?.state === "hidden" ? isBeingDeleted(name) : notFound(`The volume '${name}' does not exist.`),
        );
      });
    },

    abortDelete: ({ owner, id }, options) =>
      safeTry(async function* () {
        const driver = driverOf(owner, options);
        const { record } = yield* driver.records.change(id, "live", ({ state }) => state === "hidden");
        // A move to the trash failed midway: restore the volume, unless another volume has taken its name.
        if (record === undefined || !isInTrash(record)) return ok(undefined);
        const restored = await restoreVolume(driver, id);
        return restored.isErr() && restored.error.kind === "unavailable" ? err(restored.error) : ok(undefined);
      }),

    moveToTrash: ({ owner, id, name }, deletedAt, options) =>
      safeTry(async function* () {
        const driver = driverOf(owner, options);
        // From this write on, the volume is in the trash.
        const trashed = yield* driver.records.change(id, "deleting", ({ state }) => state === "hidden", deletedAt);
        const isClosed = trashed.changed && (yield* driver.close(trashed.record)) === "closed";
        return isClosed ? ok(undefined) : err(deletionCancelled(name));
      }),

    trash: (owner, options) =>
      driverOf(owner, options)
        .trash()
        .map((all) =>
          all.flatMap((one) => {
            const { id, name, deletedAt } = one;
            return isInTrash(one) && deletedAt !== undefined ? [{ id, name, deletedAt }] : [];
          }),
        ),

    restore: (owner, id, options) =>
      restoreVolume(driverOf(owner, options), id).map((record) => volumeOf(record, owner)),

    objects: (volume, query, options) => listObjects(driverOf(volume.owner, options), volume, query),
    stat: (volume, path, options) => statObject(driverOf(volume.owner, options), volume, path),
    read: (volume, path, options) =>
      driverOf(volume.owner, options).read(volume, path).andThen(orNotFound(volume, path)),
    remove: (volume, path, options) =>
      driverOf(volume.owner, options).remove(volume, path).andThen(orNotFound(volume, path)),

    grantUpload: (volume, path, until) => sign(volume, path, until),
    // The object's name determines the content type of a download, regardless of the upload.
    grantDownload: (volume, path, until) => sign(volume, path, until, mime.getType(path) ?? "application/octet-stream"),
  };
};
