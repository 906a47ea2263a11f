/**
 * Mirrors buckets as local folders in both directions, for the services that a fake runs. The first call of `folderOf`
 * creates the folder of a bucket. https://cloud.google.com/storage/docs/cloud-storage-fuse/overview
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The parts of a fake storage's bucket that the mirror reads. */
export interface MountableBucket {
  readonly name: string;
  readonly objects: ReadonlyMap<string, { readonly generation: bigint; readonly bytes: Uint8Array }>;
}

/** The fake storage's state, as the mirror reads and changes it. */
export interface MountableWorld<B extends MountableBucket> {
  readonly live: ReadonlyMap<string, B>;
  /** Throws if the bucket does not exist. */
  bucket(name: string): B;
  putObject(bucket: B, object: { readonly name: string; readonly bytes: Uint8Array }): { readonly generation: bigint };
  removeObject(bucket: B, name: string): void;
}

interface Mirror {
  readonly folder: string;
  /** For each file, the object's generation and the file's fingerprint at the last synchronization. */
  readonly files: Map<string, { readonly generation: bigint; readonly look: string }>;
}

/** Returns the file's fingerprint; undefined if the object's name is not a possible file name. */
const writeFile = (path: string, bytes: Uint8Array): string | undefined => {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
    return lookOf(path);
  } catch {
    return undefined;
  }
};

const lookOf = (path: string): string => {
  const { ino, mtimeMs, size } = statSync(path);
  return `${ino}-${mtimeMs}-${size}`;
};

/** Undefined if a service deletes the file concurrently; the next call reads the new state. */
const unlessGone = <T>(look: () => T): T | undefined => {
  try {
    return look();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
};

/** Walks the folder without Node's recursive `readdir`, which follows symbolic links that services may create. */
const walk = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((one) => {
    const path = join(folder, one.name);
    return one.isDirectory() ? walk(path) : one.isFile() ? [path] : [];
  });

const filesIn = (folder: string): string[] | undefined =>
  unlessGone(() => walk(folder).map((path) => path.slice(folder.length + 1)));

export class MountedFolders<B extends MountableBucket> {
  readonly #world: MountableWorld<B>;
  readonly #root: string;
  readonly #mirrors = new Map<B, Mirror>();

  constructor(world: MountableWorld<B>, root: string) {
    this.#world = world;
    this.#root = root;
  }

  /** Returns the bucket's folder, with its objects as files. Throws if the bucket does not exist. */
  folderOf(name: string): string {
    const bucket = this.#world.bucket(name);
    const known = this.#mirrors.get(bucket);
    if (known !== undefined) {
      this.pull(name);
      return known.folder;
    }
    const folder = join(this.#root, name);
    // Delete the folder of an earlier bucket of this name.
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    this.#mirrors.set(bucket, { folder, files: new Map() });
    this.push(name);
    return folder;
  }

  #of(name: string): readonly (readonly [B, Mirror])[] {
    return [...this.#mirrors].filter(([bucket]) => bucket.name === name);
  }

  /** Copies the services' changes to the bucket. The fake calls this before each call that concerns the bucket. */
  pull(bucketName: string): void {
    for (const [bucket, { folder, files }] of this.#of(bucketName)) {
      const present = this.#world.live.get(bucket.name) === bucket ? filesIn(folder) : undefined;
      if (present === undefined) continue;
      for (const name of files.keys())
        if (!present.includes(name)) {
          files.delete(name);
          this.#world.removeObject(bucket, name);
        }
      for (const name of present) {
        const path = join(folder, name);
        const look = unlessGone(() => lookOf(path));
        if (look === undefined || files.get(name)?.look === look) continue;
        const bytes = unlessGone(() => readFileSync(path));
        if (bytes === undefined) continue;
        const made = this.#world.putObject(bucket, { name, bytes });
        files.set(name, { generation: made.generation, look });
      }
    }
  }

  /** Copies changes of the bucket to the folder. The fake calls this after each call that concerns the bucket. */
  push(bucketName: string): void {
    for (const [bucket, { folder, files }] of this.#of(bucketName)) {
      for (const name of files.keys())
        if (!bucket.objects.has(name)) {
          files.delete(name);
          rmSync(join(folder, name), { force: true });
        }
      for (const [name, { generation, bytes }] of bucket.objects) {
        if (files.get(name)?.generation === generation) continue;
        const look = writeFile(join(folder, name), bytes);
        if (look !== undefined) files.set(name, { generation, look });
      }
    }
  }

  close(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}
