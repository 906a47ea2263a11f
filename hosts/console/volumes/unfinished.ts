/**
 * The uploads that the browser may resume after a reload, in `localStorage`. The id of an upload grants nothing without
 * a session.
 */
import type { UploadJournal } from "../../client/storage/upload.ts";

/** An unfinished upload, and the version of its file. */
export interface Unfinished {
  readonly volume: string;
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** The modification time of the file, in milliseconds. */
  readonly modified: number;
  readonly id: string;
}

type Version = Omit<Unfinished, "id">;

const MAX_ENTRIES = 100;

const isEntry = (value: unknown): value is Unfinished => {
  const { volume, path, size, modified, id } = (value ?? {}) as Record<string, unknown>;
  const texts = [volume, path, id].every((one) => typeof one === "string");
  return texts && typeof size === "number" && typeof modified === "number";
};

const isSameObject = (a: Version, b: Version): boolean => a.volume === b.volume && a.path === b.path;

/** Returns whether a file is the version that an unfinished upload has begun to send. */
export const isSameFile = (a: Version, b: Version): boolean =>
  isSameObject(a, b) && a.size === b.size && a.modified === b.modified;

export class UnfinishedUploads {
  readonly #storage: Storage;
  readonly #key: string;

  /** @param key identifies the platform and the account */
  constructor(storage: Storage, key: string) {
    this.#storage = storage;
    this.#key = key;
  }

  list(): readonly Unfinished[] {
    try {
      const stored: unknown = JSON.parse(this.#storage.getItem(this.#key) ?? "[]");
      return Array.isArray(stored) ? stored.filter(isEntry) : [];
    } catch {
      return [];
    }
  }

  remove(upload: Version): void {
    this.#save(this.list().filter((one) => !isSameObject(one, upload)));
  }

  /** Returns the journal of a file. A changed file starts a new upload. */
  journalOf(version: Version): UploadJournal {
    return {
      read: async () => this.list().find((one) => isSameFile(one, version))?.id,
      write: async (id) => {
        const others = this.list().filter((one) => !isSameObject(one, version));
        this.#save([...others, { ...version, id }].slice(-MAX_ENTRIES));
      },
      clear: async () => this.remove(version),
    };
  }

  #save(entries: readonly Unfinished[]): void {
    try {
      this.#storage.setItem(this.#key, JSON.stringify(entries));
    } catch {
      // Without storage, an upload cannot resume after a reload.
    }
  }
}
