/** Stores volumes, live and in the trash. Their files are in folders. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeletedVolume } from "../../../core/domain/volumes/volume.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { StoredVolume, VolumeState } from "../../../core/ports/volume-store.ts";

/** The properties of a volume in the state and in its record. */
export interface VolumeRecord extends StoredVolume {
  /** The time at which the volume moved to the trash. */
  readonly deletedAt: Timestamp | null;
}

interface Row {
  id: string;
  owner: string;
  name: string;
  created_at: string;
  hidden: number;
  deleted_at: string | null;
}

const volumeOf = ({ id, owner, name, created_at }: Row): StoredVolume => ({
  id,
  owner: owner as AccountId,
  name: name as VolumeName,
  createdAt: created_at as Timestamp,
});

export class VolumeRows {
  readonly #db: DatabaseSync;
  readonly #living: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#living = db.prepare("SELECT 1 FROM volumes WHERE id = ? AND deleted_at IS NULL");
    // The process that hid them has ended.
    db.exec("UPDATE volumes SET hidden = 0 WHERE hidden = 1");
  }

  lives(id: string): boolean {
    return this.#living.get(id) !== undefined;
  }

  ownerOf(id: string): AccountId | undefined {
    const row = this.#db.prepare("SELECT owner FROM volumes WHERE id = ?").get(id);
    return (row as { owner: AccountId } | undefined)?.owner;
  }

  find(owner: AccountId, name: VolumeName): VolumeState {
    const own = this.#named(owner, name);
    if (own !== undefined) return own.hidden === 1 ? { kind: "hidden" } : { kind: "held", volume: volumeOf(own) };
    const other = this.#db.prepare("SELECT 1 FROM volumes WHERE name = ? AND deleted_at IS NULL LIMIT 1").get(name);
    return { kind: other === undefined ? "free" : "elsewhere" };
  }

  list(owner: AccountId): StoredVolume[] {
    const rows = this.#db
      .prepare("SELECT * FROM volumes WHERE owner = ? AND deleted_at IS NULL AND hidden = 0 ORDER BY name")
      .all(owner);
    return (rows as unknown as Row[]).map(volumeOf);
  }

  insert({ id, owner, name, createdAt }: StoredVolume): void {
    this.#db
      .prepare("INSERT INTO volumes (id, owner, name, created_at, hidden) VALUES (?, ?, ?, ?, 0)")
      .run(id, owner, name, createdAt);
  }

  setHidden(id: string, hidden: boolean): void {
    this.#db.prepare("UPDATE volumes SET hidden = ? WHERE id = ?").run(hidden ? 1 : 0, id);
  }

  /** Returns false, and changes nothing, if the volume is not hidden. */
  moveToTrash(id: string, deletedAt: Timestamp): boolean {
    return (
      this.#db.prepare("UPDATE volumes SET hidden = 0, deleted_at = ? WHERE id = ? AND hidden = 1").run(deletedAt, id)
        .changes === 1
    );
  }

  trash(owner: AccountId): DeletedVolume[] {
    const rows = this.#db.prepare("SELECT * FROM volumes WHERE owner = ? AND deleted_at IS NOT NULL").all(owner);
    return (rows as unknown as Row[]).map((row) => ({ ...volumeOf(row), deletedAt: row.deleted_at as Timestamp }));
  }

  /** Returns the ids of all accounts' volumes that were deleted before a moment. */
  deletedBefore(moment: Timestamp): string[] {
    const rows = this.#db.prepare("SELECT id, deleted_at FROM volumes WHERE deleted_at < ?").all(moment);
    return (rows as unknown as Row[]).map(({ id }) => id);
  }

  /** Returns the restored volume; undefined if the account's trash has no such volume. */
  restore(owner: AccountId, id: string): StoredVolume | undefined {
    const row = this.#db
      .prepare("UPDATE volumes SET deleted_at = NULL WHERE owner = ? AND id = ? AND deleted_at IS NOT NULL RETURNING *")
      .get(owner, id) as Row | undefined;
    return row === undefined ? undefined : volumeOf(row);
  }

  forget(id: string): void {
    this.#db.prepare("DELETE FROM volumes WHERE id = ?").run(id);
  }

  /** Returns every volume, including those in the trash. */
  all(): VolumeRecord[] {
    const rows = this.#db.prepare("SELECT * FROM volumes ORDER BY created_at, id").all() as unknown as Row[];
    return rows.map((row) => ({ ...volumeOf(row), deletedAt: row.deleted_at as Timestamp | null }));
  }

  /** Makes the row match the record. Returns false, unchanged, if another live volume of the account has the name. */
  adopt({ id, owner, name, createdAt, deletedAt }: VolumeRecord): boolean {
    const present = this.#named(owner, name);
    if (deletedAt === null && present !== undefined && present.id !== id) return false;
    this.#db
      .prepare(
        "INSERT OR REPLACE INTO volumes (id, owner, name, created_at, hidden, deleted_at) VALUES (?, ?, ?, ?, 0, ?)",
      )
      .run(id, owner, name, createdAt, deletedAt);
    return true;
  }

  #named(owner: AccountId, name: VolumeName): Row | undefined {
    return this.#db
      .prepare("SELECT * FROM volumes WHERE owner = ? AND name = ? AND deleted_at IS NULL")
      .get(owner, name) as Row | undefined;
  }
}
