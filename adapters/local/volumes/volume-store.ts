/**
 * The local VolumeStore. The state lists the volumes, folders contain their objects, and the ingress serves signed
 * URLs.
 */
import { readdir, rmdir } from "node:fs/promises";
import { trashDays } from "../../../core/domain/accounts/limits.ts";
import { deletionCancelled, isBeingDeleted, nameIsTaken } from "../../../core/domain/volumes/conflicts.ts";
import { plusMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import { type NotFound, notFound, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock, Ids, Logger } from "../../../core/ports/system.ts";
import type { StoredVolume, UploadsInParts, VolumeStore } from "../../../core/ports/volume-store.ts";
import { err, errAsync, ok, okAsync, type Result, ResultAsync } from "../../../core/result.ts";
import { diskFaultOf, storeUnavailable } from "../../shared/runtime/disk-fault.ts";
import { signParts, storageParts } from "../../shared/volumes/sign-parts.ts";
import { type StorageMethod, signUrl } from "../../shared/volumes/signed-url.ts";
import { NoUserLeft, type UserOf } from "../sandbox/users/account-users.ts";
import type { VolumeRecord, VolumeRows } from "../state/volumes.ts";
import { isPathMissing } from "../tenant-files/folder.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";
import type { LocalObjects } from "./local-objects.ts";
import type { Quarantine } from "./quarantine.ts";
import type { VolumeRecords } from "./records.ts";

export interface VolumesConfig {
  readonly rows: VolumeRows;
  readonly objects: LocalObjects;
  readonly records: VolumeRecords;
  readonly quarantine: Quarantine;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly userOf: UserOf;
  /** The key that signs URLs. */
  readonly key: string;
  /** The base of signed URLs. */
  readonly base: string;
}

const HOUR_MS = 3_600_000;

const down = (cause: unknown): Unavailable =>
  cause instanceof NoUserLeft
    ? unavailable(cause.message, 60, cause)
    : storeUnavailable("The storage of this machine cannot be read or written. Try again.", cause);

const noVolume = ({ name }: StoredVolume): NotFound => notFound(`The volume '${name}' does not exist.`);

export class LocalVolumes implements VolumeStore {
  readonly #config: VolumesConfig;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(config: VolumesConfig) {
    this.#config = config;
  }

  /**
   * Aborts interrupted deletions, and moves unknown folders to quarantine. Deletes expired volumes now and every hour.
   */
  async open(): Promise<void> {
    this.#config.rows.recover();
    await this.#quarantineUnknown();
    await this.#config.records.correct(this.#config.rows.all());
    await this.#sweep();
    this.#sweeping = setInterval(() => void this.#sweep(), HOUR_MS).unref();
  }

  close(): void {
    clearInterval(this.#sweeping);
  }

  find(...[owner, name]: Parameters<VolumeStore["find"]>): ReturnType<VolumeStore["find"]> {
    return this.#guarded(async () => ok(this.#config.rows.find(owner, name)));
  }

  list(...[owner]: Parameters<VolumeStore["list"]>): ReturnType<VolumeStore["list"]> {
    return this.#guarded(async () => ok(this.#config.rows.list(owner)));
  }

  create(...[owner, name]: Parameters<VolumeStore["create"]>): ReturnType<VolumeStore["create"]> {
    const { rows, records, ids, clock, objects, userOf } = this.#config;
    return this.#guarded(async () => {
      const volume = { id: `vol-${ids.id()}`, owner, name, createdAt: timestampOf(clock.now()) };
      await using undo = new AsyncDisposableStack();
      undo.defer(() => this.#undoCreate(volume.id));
      await objects.make(volume.id, userOf(owner));
      await records.write({ ...volume, deletedAt: null });
      // No await between here and the insertion, so exactly one of two concurrent calls creates the volume.
      const present = rows.find(owner, name);
      if (present.kind === "held") return ok({ volume: present.volume, created: false });
      if (present.kind === "hidden") return err(isBeingDeleted(name));
      try {
        rows.insert(volume);
      } catch (error) {
        // Even if the flush failed, the row may be on disk, so keep the folder and the record.
        if (diskFaultOf(error) === "failing") undo.move();
        throw error;
      }
      undo.move();
      return ok({ volume, created: true });
    });
  }

  beginDelete(...[volume]: Parameters<VolumeStore["beginDelete"]>): ReturnType<VolumeStore["beginDelete"]> {
    const { rows } = this.#config;
    const state = rows.find(volume.owner, volume.name);
    if (state.kind === "hidden") return errAsync(isBeingDeleted(volume.name));
    if (state.kind !== "held" || state.volume.id !== volume.id) return errAsync(noVolume(volume));
    return this.#guarded(async () => ok(rows.setHidden(volume.id, true)));
  }

  abortDelete(...[volume]: Parameters<VolumeStore["abortDelete"]>): ReturnType<VolumeStore["abortDelete"]> {
    return this.#guarded(async () => ok(this.#config.rows.setHidden(volume.id, false)));
  }

  moveToTrash(...[volume, deletedAt]: Parameters<VolumeStore["moveToTrash"]>): ReturnType<VolumeStore["moveToTrash"]> {
    return this.#guarded(async () => {
      if (!this.#config.rows.moveToTrash(volume.id, deletedAt)) return err(deletionCancelled(volume.name));
      await this.#record({ ...volume, deletedAt });
      await this.#removeUploads(volume.id);
      return ok(undefined);
    });
  }

  trash(...[owner]: Parameters<VolumeStore["trash"]>): ReturnType<VolumeStore["trash"]> {
    return this.#guarded(async () => ok(this.#config.rows.trash(owner)));
  }

  restore(...[owner, id]: Parameters<VolumeStore["restore"]>): ReturnType<VolumeStore["restore"]> {
    const { rows } = this.#config;
    const deleted = rows.trash(owner).find((one) => one.id === id);
    const gone = notFound("The trash does not contain this volume.");
    if (deleted === undefined) return errAsync(gone);
    const { kind } = rows.find(owner, deleted.name);
    if (kind === "held" || kind === "hidden") return errAsync(nameIsTaken(deleted.name));
    return this.#guarded(async () => {
      const restored = rows.restore(owner, id);
      if (restored === undefined) return err(gone);
      await this.#record({ ...restored, deletedAt: null });
      return ok(restored);
    });
  }

  objects(...[volume, query]: Parameters<VolumeStore["objects"]>): ReturnType<VolumeStore["objects"]> {
    return this.#living(volume, async () => ok(await this.#config.objects.list(volume.id, query)));
  }

  stat(...[volume, path]: Parameters<VolumeStore["stat"]>): ReturnType<VolumeStore["stat"]> {
    return this.#living(volume, async () => {
      const found = await this.#config.objects.stat(volume.id, path);
      return found === undefined ? err(this.#noObject(volume, path)) : ok(found);
    });
  }

  read(...[volume, path]: Parameters<VolumeStore["read"]>): ReturnType<VolumeStore["read"]> {
    return this.#living(volume, async () => {
      const found = await this.#config.objects.find(volume.id, path);
      if (found === undefined) return err(this.#noObject(volume, path));
      return ok(found.bytes(0, Math.max(0, found.size - 1)));
    });
  }

  remove(...[volume, path]: Parameters<VolumeStore["remove"]>): ReturnType<VolumeStore["remove"]> {
    return this.#living(volume, async () =>
      (await this.#config.objects.remove(volume.id, path)) ? ok(undefined) : err(this.#noObject(volume, path)),
    );
  }

  grantUpload(
    ...[volume, path, until]: Parameters<VolumeStore["grantUpload"]>
  ): ReturnType<VolumeStore["grantUpload"]> {
    return this.#grant("PUT", volume, path, until);
  }

  grantDownload(
    ...[volume, path, until]: Parameters<VolumeStore["grantDownload"]>
  ): ReturnType<VolumeStore["grantDownload"]> {
    return this.#grant("GET", volume, path, until);
  }

  grantOrigins(): ReturnType<Required<VolumeStore>["grantOrigins"]> {
    return okAsync([new URL(this.#config.base).origin]);
  }

  readonly uploadsInParts: UploadsInParts = {
    ...storageParts,
    begin: (volume, path) =>
      this.#living(volume, async () =>
        ok(await this.#config.objects.beginUpload(volume.id, path, this.#config.clock.now())),
      ),
    pending: (volume) =>
      this.#living(volume, async () =>
        ok(await this.#config.objects.countUploads(volume.id, this.#config.clock.now())),
      ),
    stored: ({ volume, path, id }) =>
      this.#living(volume, async () => {
        const parts = await this.#config.objects.storedParts(volume.id, path, id);
        return parts === undefined ? err(notFound("The upload does not exist.")) : ok(parts);
      }),
    grant: (upload, parts, until) => okAsync(signParts(this.#config.key, this.#config.base, upload, parts, until)),
  };

  #grant(method: StorageMethod, ...[volume, path, until]: Parameters<VolumeStore["grantUpload"]>) {
    const { key, base } = this.#config;
    return okAsync(signUrl(key, base, { method, bucket: volume.id, path }, until));
  }

  #noObject({ name }: StoredVolume, path: string): NotFound {
    return notFound(`The volume '${name}' has no object '${path}'.`);
  }

  #living<T>(volume: StoredVolume, work: () => Promise<Result<T, NotFound>>): ResultAsync<T, NotFound | Unavailable> {
    return this.#config.rows.isLive(volume.id) ? this.#guarded(work) : errAsync(noVolume(volume));
  }

  #guarded<T, E = never>(work: () => Promise<Result<T, E>>): ResultAsync<T, E | Unavailable> {
    return new ResultAsync(
      work().catch((cause: unknown) => {
        this.#config.logger.error("the storage failed", { cause });
        return err<T, E | Unavailable>(down(cause));
      }),
    );
  }

  /** Removes the folder and record of a volume without a row. If the removal fails, the next start repeats it. */
  async #undoCreate(id: string): Promise<void> {
    const { objects, records, logger } = this.#config;
    try {
      await rmdir(objects.folderOf(id)).catch((error: unknown) => {
        if (!isPathMissing(error)) throw error;
      });
      await records.remove(id);
    } catch (cause) {
      logger.warn("could not remove the folder of a volume whose creation failed", { id, cause });
    }
  }

  /** Ignores failures, because the state has already changed. The next start corrects the record. */
  async #record(record: VolumeRecord): Promise<void> {
    try {
      await this.#config.records.write(record);
    } catch (cause) {
      this.#config.logger.warn("could not write the record of a volume", { id: record.id, cause });
    }
  }

  /** Ignores failures, because the volume is already deleted. The sweep of the engine deletes the uploads. */
  async #removeUploads(id: string): Promise<void> {
    try {
      await this.#config.objects.removeUploads(id);
    } catch (cause) {
      this.#config.logger.warn("could not delete the uploads of a deleted volume", { id, cause });
    }
  }

  /** Moves unknown folders instead of deleting them, because the state may be damaged or older than the folders. */
  async #quarantineUnknown(): Promise<void> {
    const { rows, objects, records, quarantine, logger } = this.#config;
    const known = new Set(rows.all().map(({ id }) => id));
    const unknown = (await readdir(objects.folderOf(""))).filter((id) => !known.has(id));
    if (unknown.length === 0) return;
    const recorded = new Map((await records.all()).map((record) => [record.id, record]));
    const reason = "the state has no volume with this id";
    const sizes: number[] = [];
    for (const id of unknown) {
      const size = await quarantine.take(objects.folderOf(id), id, reason, recorded.get(id));
      if (size !== undefined) sizes.push(size);
    }
    if (sizes.length === 0) return;
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    logger.warn("moved unknown volume folders to quarantine", {
      folders: sizes.length,
      bytes,
      path: quarantine.folder,
    });
  }

  async #sweep(): Promise<void> {
    const { rows, records, clock, objects, logger } = this.#config;
    try {
      for (const id of rows.deletedBefore(timestampOf(plusMillis(clock.now(), -trashDays * 86_400_000)))) {
        await removeTree(objects.folderOf(id));
        await records.remove(id);
        rows.forget(id);
      }
    } catch (cause) {
      logger.warn("could not delete expired volumes in the trash", { cause });
    }
  }
}
