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

  /** Returns the queries, sorted by name. */
  list(): readonly SavedQuery[] {
    try {
      const stored: unknown = JSON.parse(this.#storage.getItem(this.#key) ?? "[]");
      return Array.isArray(stored) ? stored.filter(isSaved) : [];
    } catch {
      return [];
    }
  }

  /**
   * Saves a query. Replaces one of the same name. Returns false if the browser's storage is full, or if it has the
   * maximum number of queries.
   */
  save(query: SavedQuery): boolean {
    const others = this.list().filter(({ name }) => name !== query.name);
    if (others.length >= MAX_QUERIES) return false;
    return this.#write([...others, query].sort((a, b) => a.name.localeCompare(b.name)));
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
