/** Statements that the user saved in the browser. */

export interface SavedQuery {
  readonly name: string;
  readonly query: string;
}

const MAX_QUERIES = 100;

const isSaved = (value: unknown): value is SavedQuery => {
  const { name, query } = (value ?? {}) as Record<string, unknown>;
  return typeof name === "string" && typeof query === "string";
};

export class SavedQueries {
  readonly #storage: Storage;
  readonly #key: string;

  /** @param key identifies the platform and the account */
  constructor(storage: Storage, key: string) {
    this.#storage = storage;
    this.#key = key;
  }

  /** Returns the queries by name. */
  list(): readonly SavedQuery[] {
    try {
      const stored: unknown = JSON.parse(this.#storage.getItem(this.#key) ?? "[]");
      return Array.isArray(stored) ? stored.filter(isSaved) : [];
    } catch {
      return [];
    }
  }

  /** Saves a query. Replaces one of the same name. Returns false if the browser's storage is full. */
  save(query: SavedQuery): boolean {
    const others = this.list().filter(({ name }) => name !== query.name);
    const all = [...others.slice(1 - MAX_QUERIES), query].sort((a, b) => a.name.localeCompare(b.name));
    return this.#write(all);
  }

  remove(name: string): void {
    this.#write(this.list().filter((one) => one.name !== name));
  }

  #write(queries: readonly SavedQuery[]): boolean {
    try {
      this.#storage.setItem(this.#key, JSON.stringify(queries));
      return true;
    } catch {
      return false;
    }
  }
}
