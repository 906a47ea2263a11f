/** Reads an SQLite file of the data folder that another process writes and may replace. */
import { DatabaseSync } from "node:sqlite";
import { isDamage } from "./data-folder-error.ts";
import { fileIdOf } from "./file-id.ts";

export class ReadOnlyFile implements Disposable {
  readonly #path: string;
  readonly #onDamage: () => void;
  #open: { readonly id: string | undefined; readonly db: DatabaseSync } | undefined;

  /** @param onDamage called if a read finds damage; must cause the file's writer to check and replace the file */
  constructor(path: string, onDamage: () => void) {
    this.#path = path;
    this.#onDamage = onDamage;
  }

  /** Calls `work` with the file that is currently at the path. Throws if the file cannot be read. */
  use<T>(work: (db: DatabaseSync) => T): T {
    try {
      return work(this.#database());
    } catch (error) {
      if (isDamage(error)) this.#onDamage();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#open?.db.close();
    this.#open = undefined;
  }

  #database(): DatabaseSync {
    const id = fileIdOf(this.#path);
    if (this.#open?.id === id && this.#open !== undefined) return this.#open.db;
    this[Symbol.dispose]();
    const db = new DatabaseSync(this.#path, { readOnly: true, timeout: 5000 });
    this.#open = { id, db };
    return db;
  }
}
