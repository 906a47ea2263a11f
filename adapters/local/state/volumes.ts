/** Stores the volumes, including those in the trash. The content of volumes is in folders. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeletedVolume } from "../../../core/domain/volumes/volume.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { StoredVolume, VolumeState } from "../../../core/ports/volume-store.ts";
import { insert, selectAll, selectFirst } from "./sql.ts";

/** The properties of a volume in the state and in its record. */
export interface VolumeRecord extends StoredVolume {
  /** The time at which the volume was moved to the trash, or null. */
  readonly deletedAt: Timestamp | null;
}

const COLUMNS = "id, owner, name, created_at AS createdAt";

export class VolumeRows {
  readonly #db: DatabaseSync;
  readonly #living: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#living = db.prepare("SELECT 1 FROM volumes WHERE id = ? AND deleted_at IS NULL");
  }

  /** Shows hidden volumes again, because the previous process did not finish deleting them. */
  recover(): void {
    this.#db.exec("UPDATE volumes SET hidden = 0 WHERE hidden = 1");
  }

  isLive(id: string): boolean {
    return this.#living.get(id) !== undefined;
  }

  ownerOf(id: string): AccountId | undefined {
    return selectFirst<{ owner: AccountId }>(this.#db, "SELECT owner FROM volumes WHERE id = ?", id)?.owner;
  }

  find(owner: AccountId, name: VolumeName): VolumeState {
    const own = this.#named(owner, name);
    if (own !== undefined) {
      const { hidden, ...volume } = own;
      return hidden === 1 ? { kind: "hidden" } : { kind: "held", volume };
    }
    const other = this.#db.prepare("SELECT 1 FROM volumes WHERE name = ? AND deleted_at IS NULL LIMIT 1").get(name);
    return { kind: other === undefined ? "free" : "other_account" };
  }

  list(owner: AccountId): StoredVolume[] {
    const live = "owner = ? AND deleted_at IS NULL AND hidden = 0";
    return selectAll(this.#db, `SELECT ${COLUMNS} FROM volumes WHERE ${live} ORDER BY name`, owner);
  }

  insert({ id, owner, name, createdAt }: StoredVolume): void {
    insert(this.#db, "INSERT INTO volumes", { id, owner, name, created_at: createdAt, hidden: 0 });
  }

  setHidden(id: string, hidden: boolean): void {
    this.#db.prepare("UPDATE volumes SET hidden = ? WHERE id = ?").run(hidden ? 1 : 0, id);
  }

  /** Returns false, and changes nothing, if the volume is not hidden. */
  moveToTrash(id: string, deletedAt: Timestamp): boolean {
    const update = "UPDATE volumes SET hidden = 0, deleted_at = ? WHERE id = ? AND hidden = 1";
    return this.#db.prepare(update).run(deletedAt, id).changes === 1;
  }

  trash(owner: AccountId): DeletedVolume[] {
    const columns = `${COLUMNS}, deleted_at AS deletedAt`;
    return selectAll(this.#db, `SELECT ${columns} FROM volumes WHERE owner = ? AND deleted_at IS NOT NULL`, owner);
  }

  /** Returns the ids of volumes that any account deleted before the given time. */
  deletedBefore(moment: Timestamp): string[] {
    const rows = selectAll<{ id: string }>(this.#db, "SELECT id FROM volumes WHERE deleted_at < ?", moment);
    return rows.map(({ id }) => id);
  }

  /** Returns the restored volume, or undefined if the volume is not in the account's trash. */
  restore(owner: AccountId, id: string): StoredVolume | undefined {
    const deleted = "owner = ? AND id = ? AND deleted_at IS NOT NULL";
    const update = `UPDATE volumes SET deleted_at = NULL WHERE ${deleted} RETURNING ${COLUMNS}`;
    return selectFirst(this.#db, update, owner, id);
  }

  forget(id: string): void {
    this.#db.prepare("DELETE FROM volumes WHERE id = ?").run(id);
  }

  /** Returns every volume, including those in the trash. */
  all(): VolumeRecord[] {
    return selectAll(this.#db, `SELECT ${COLUMNS}, deleted_at AS deletedAt FROM volumes ORDER BY created_at, id`);
  }

  /**
   * Makes the row match the record. Returns false, and changes nothing, if another live volume of the account has the
   * name.
   */
  adopt({ id, owner, name, createdAt, deletedAt }: VolumeRecord): boolean {
    const present = this.#named(owner, name);
    if (deletedAt === null && present !== undefined && present.id !== id) return false;
    const row = { id, owner, name, created_at: createdAt, hidden: 0, deleted_at: deletedAt };
    insert(this.#db, "INSERT OR REPLACE INTO volumes", row);
    return true;
  }

  #named(owner: AccountId, name: VolumeName): (StoredVolume & { readonly hidden: number }) | undefined {
    const own = "owner = ? AND name = ? AND deleted_at IS NULL";
    return selectFirst(this.#db, `SELECT ${COLUMNS}, hidden FROM volumes WHERE ${own}`, owner, name);
  }
}
