/**
 * `portside backup` writes one file with everything in a data folder that the server cannot recreate.
 *
 * A server may change the folder during the backup. The state refers to volumes and images, and the backup must contain
 * all of them. Each round therefore copies the state to a work folder, and then adds the volumes and images that the
 * backup lacks. After a round that adds nothing, the backup adds that round's copy of the state. Volumes in the backup
 * that the copy does not list are harmless, because the next start moves them to quarantine.
 */
import { existsSync, lstatSync, realpathSync } from "node:fs";
import { readdir, rename, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { MANIFEST, readManifest } from "../builds/image-store.ts";
import { DataFolderError, explainFileError, isDamage, noDataFolder } from "../data-folder/data-folder-error.ts";
import { backupRuleOf, KEY_FILE } from "../data-folder/layout.ts";
import { hasPrivateKeys, hasSecrets, KEY_CHECK, readMatchingKey } from "../secrets/key-file.ts";
import { syncFolder } from "../state/check-file.ts";
import { inspectState, STATE_FILE } from "../state/inspect.ts";
import { SettingRows } from "../state/settings.ts";
import { hasTable, openImmutable, selectAll } from "../state/sql.ts";
import { codeOf, type Folder, isPathMissing, openRoot } from "../tenant-files/folder.ts";
import { BackupError } from "./backup-error.ts";
import { BackupWriter } from "./backup-writer.ts";
import { copyDatabase } from "./copy-database.ts";
import { entryOf, TreeCopy } from "./copy-tree.ts";
import { FORMAT } from "./format.ts";
import { type LeftOut, LeftOutList } from "./left-out-list.ts";
import { openWorkFolder } from "./work-folder.ts";

export interface BackupOptions {
  readonly dataDir: string;
  /** The backup file. */
  readonly file: string;
  /** Whether to replace an existing file. */
  readonly replace?: boolean;
  /** Whether to include the secrets key if it encrypts any value. The key must then be in the data folder. */
  readonly withSecretsKey?: boolean;
  readonly signal?: AbortSignal;
  /**
   * Called with the number of uncompressed bytes since the last call. If it returns a promise, the backup waits for the
   * promise.
   */
  readonly onProgress?: (bytes: number) => unknown;
}

export interface BackupSummary {
  readonly file: string;
  /** The size of the backup file. */
  readonly bytes: number;
  readonly deployments: number;
  /** The number of volumes outside the trash. The backup contains volumes in the trash, too. */
  readonly volumes: number;
  /** The number of files in volumes. */
  readonly objects: number;
  readonly leftOut: readonly LeftOut[];
}

/** Each round adds only files that appeared during the previous round, so rounds become shorter. */
const MAX_ROUNDS = 20;
const COPY = "copy.sqlite";

/** Reads a copy of the state. Supports the formats of all releases. */
const contentOf = (path: string) => {
  using db = openImmutable(path);
  const services = db.prepare("SELECT serving, rolling, attempted FROM services").all();
  const releases = hasTable(db, "releases") ? db.prepare("SELECT image FROM releases").all() : [];
  const templates = [...services, ...releases].flatMap((row) => Object.values(row)).join("\n");
  const rows = "SELECT id, deleted_at AS deleted FROM volumes ORDER BY id";
  const volumes = hasTable(db, "volumes") ? selectAll<{ id: string; deleted: string | null }>(db, rows) : [];
  return {
    deployments: services.length,
    volumes: volumes.map(({ id }) => id),
    livingVolumes: volumes.filter(({ deleted }) => deleted === null).length,
    /** Paths below `images`, as `OWNER/KEY`. */
    images: [...new Set(templates.matchAll(/local:\/\/([0-9a-f]{24}\/[0-9a-f]{32})/g).map(([, path = ""]) => path))],
  };
};

/**
 * Returns the check value of the secrets key from a copy of the state. Returns undefined if the state has no secrets
 * and no private keys, and an empty string if it has such values but no check value.
 */
const keyCheckOf = (path: string): string | undefined => {
  using db = openImmutable(path);
  const needsKey = (hasTable(db, "secrets") && hasSecrets(db)) || (hasTable(db, "certificates") && hasPrivateKeys(db));
  if (!needsKey) return undefined;
  return new SettingRows(db).get(KEY_CHECK) ?? "";
};

type StateContent = ReturnType<typeof contentOf>;

interface BackupDeps {
  /** The absolute path with symbolic links resolved. */
  readonly dataDir: string;
  /** The absolute path, which may contain symbolic links. */
  readonly named: string;
  readonly work: string;
  readonly writer: BackupWriter;
  readonly withSecretsKey: boolean;
  readonly signal: AbortSignal;
}

const orNothing = (error: unknown): undefined => {
  if (!isPathMissing(error)) throw error;
};

class DataFolderBackup {
  readonly #deps: BackupDeps;
  readonly #leftOut = new LeftOutList();
  readonly #trees: TreeCopy;
  /** The paths of written entries. */
  readonly #done = new Set<string>();
  #objects = 0;

  constructor(deps: BackupDeps) {
    this.#deps = deps;
    const onFile = (path: string) => {
      if (path.startsWith("storage/volumes/")) this.#objects++;
    };
    this.#trees = new TreeCopy({ ...deps, leftOut: this.#leftOut, onFile });
  }

  async run(): Promise<Omit<BackupSummary, "file" | "bytes">> {
    const { uid } = await stat(this.#deps.dataDir);
    const created_at = new Date().toISOString();
    await this.#deps.writer.begin({ format: FORMAT, created_at, data_dir: this.#deps.named, uid });
    await this.#copyVolumes(await this.#copyState(), await this.#namesIn("storage/volumes"));
    await this.#copyTheRest();
    const { deployments, livingVolumes: volumes } = await this.#copyUntilComplete();
    if (this.#deps.withSecretsKey) await this.#copyKey();
    await this.#copyFrom(join(this.#deps.work, COPY), STATE_FILE);
    await this.#deps.writer.end({ deployments, volumes, objects: this.#objects });
    return { deployments, volumes, objects: this.#objects, leftOut: this.#leftOut.all() };
  }

  /** Copies the state to the work folder. */
  async #copyState(): Promise<StateContent> {
    const [path, copy] = [join(this.#deps.dataDir, STATE_FILE), join(this.#deps.work, COPY)];
    const damaged = (problem: string, cause?: unknown) =>
      new DataFolderError(
        "damaged",
        path,
        `${path} is damaged (${problem}). Run 'portside doctor --repair --data-dir ${this.#deps.dataDir}', then back up again.`,
        cause,
      );
    try {
      await copyDatabase(path, copy);
    } catch (error) {
      throw isDamage(error) ? damaged((error as Error).message, error) : (explainFileError(error, path) ?? error);
    }
    const { state } = inspectState(copy, true);
    if (state.kind === "whole") return contentOf(copy);
    throw damaged(state.kind === "unreadable" ? state.problem : `its content is ${state.kind}`);
  }

  /** @returns the paths that are missing */
  async #copyVolumes({ volumes, images }: StateContent, alsoVolumes: readonly string[] = []): Promise<string[]> {
    const missing: string[] = [];
    for (const id of new Set([...volumes, ...alsoVolumes]))
      if (!(await this.#copyTree(`storage/volumes/${id}`))) missing.push(`storage/volumes/${id}`);
    for (const image of images) if (!(await this.#copyImage(`images/${image}`))) missing.push(`images/${image}`);
    return missing;
  }

  async #copyUntilComplete(): Promise<StateContent> {
    // Ignores paths that two consecutive rounds do not find, such as a volume that an operator deleted by hand.
    let missing: string | undefined;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const before = this.#done.size;
      const content = await this.#copyState();
      const now = (await this.#copyVolumes(content)).join("\n");
      if (this.#done.size === before && (now === "" || now === missing)) return content;
      missing = now;
    }
    throw new BackupError(
      this.#deps.dataDir,
      `${this.#deps.dataDir} changed too often to be copied: new volumes or deployments appeared in each of ${MAX_ROUNDS} rounds. Run the backup again at a quieter time.`,
    );
  }

  /** Copies the other databases, the quarantine and the platform's own files. Records foreign files as left out. */
  async #copyTheRest(): Promise<void> {
    for (const name of await this.#namesIn("")) {
      const paths = name === "storage" ? (await this.#namesIn(name)).map((inner) => `${name}/${inner}`) : [name];
      for (const path of paths)
        switch (backupRuleOf(path)) {
          case "own":
          case "quarantine":
            await this.#copyTree(path);
            break;
          case "database":
            await this.#copyDatabase(path);
            break;
          case "databases":
            await this.#copyDatabases(path);
            break;
          case undefined:
            this.#leftOut.add("foreign", path);
        }
    }
  }

  /** Copies the key that matches the copied state. After an interrupted rekey, that key may be in another file. */
  async #copyKey(): Promise<void> {
    const check = keyCheckOf(join(this.#deps.work, COPY));
    if (check === undefined) return;
    const copy = join(this.#deps.work, KEY_FILE);
    await writeFile(copy, readMatchingKey(join(this.#deps.dataDir, KEY_FILE), check), { mode: 0o600 });
    await this.#copyFrom(copy, KEY_FILE);
  }

  async #copyDatabases(folder: string): Promise<void> {
    // Also copies damaged log files, because the server keeps them until the log retention ends.
    for (const name of await this.#namesIn(folder))
      if (name.endsWith(".sqlite")) await this.#copyDatabase(`${folder}/${name}`);
      else if (name.includes(".damaged-")) await this.#copyTree(`${folder}/${name}`);
  }

  async #copyDatabase(path: string): Promise<void> {
    const copy = join(this.#deps.work, COPY);
    try {
      await copyDatabase(join(this.#deps.dataDir, path), copy);
    } catch (error) {
      // The server may have renamed the file in the meantime, as it does with a damaged log.
      if (isDamage(error) || lstatSync(join(this.#deps.dataDir, path), { throwIfNoEntry: false }) === undefined)
        return this.#leftOut.add("database", path);
      throw explainFileError(error, join(this.#deps.dataDir, path)) ?? error;
    }
    await this.#copyFrom(copy, path);
  }

  /** Copies the manifest last, because it marks an image as complete. */
  async #copyImage(path: string): Promise<boolean> {
    const folder = join(this.#deps.dataDir, path);
    const before = await stat(join(folder, MANIFEST), { bigint: true }).catch(() => undefined);
    const manifest = readManifest(folder);
    if (before === undefined || manifest === undefined) return false;
    if (this.#done.has(`${path}/${MANIFEST}`)) return true;
    if (this.#done.has(path))
      throw new BackupError(folder, `The image ${folder} was replaced while it was copied. Run the backup again.`);
    if (manifest.kind !== "container") {
      for (const needed of manifest.needs) {
        const [environment] = /cache\/[0-9a-f]{24}\/venvs\/[0-9a-f]{32}(?=\/|$)/.exec(needed) ?? [];
        if (environment !== undefined) await this.#copyTree(environment);
      }
      await this.#copyTree(`${path}/app`);
    }
    const after = await stat(join(folder, MANIFEST), { bigint: true }).catch(() => undefined);
    if (after?.ino !== before.ino) return false;
    return this.#copyTree(`${path}/${MANIFEST}`);
  }

  /** @returns false if the path does not exist */
  async #copyTree(path: string): Promise<boolean> {
    if (this.#done.has(path)) return true;
    await using parent = await this.#parentOf(path);
    if (parent === undefined) return false;
    const exists = await this.#trees.copy(parent, basename(path), path);
    if (exists) this.#done.add(path);
    return exists;
  }

  /** Copies the file `from` to the entry `path`. The caller must not change the file during the copy. */
  async #copyFrom(from: string, path: string): Promise<void> {
    await (await this.#parentOf(path))?.close();
    await using folder = await openRoot(dirname(from));
    await this.#trees.copy(folder, basename(from), path);
  }

  /** Opens the parent folder of the path. Adds missing entries for all folders above the path. */
  async #parentOf(path: string): Promise<Folder | undefined> {
    let folder = await openRoot(this.#deps.dataDir);
    const names = path.split("/").slice(0, -1);
    for (const [index, name] of names.entries()) {
      const inner = await folder.enter(name).catch(orNothing);
      await folder.close();
      if (inner === undefined) return undefined;
      folder = inner;
      const at = names.slice(0, index + 1).join("/");
      if (this.#done.has(at)) continue;
      this.#done.add(at);
      await this.#deps.writer.entry(entryOf(at, "folder", await folder.handle.stat(), { mode: 0o700 }));
    }
    return folder;
  }

  async #namesIn(path: string): Promise<string[]> {
    return ((await readdir(join(this.#deps.dataDir, path)).catch(orNothing)) ?? []).sort();
  }
}

/** Returns the path of the data folder with symbolic links resolved. */
const findData = (dataDir: string): string => {
  try {
    const real = realpathSync(dataDir);
    if (existsSync(join(real, STATE_FILE))) return real;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw explainFileError(error, dataDir) ?? error;
  }
  throw noDataFolder(dataDir);
};

const checkPlace = (file: string, dataDir: string, replaces: boolean): void => {
  const folder = realpathSync(dirname(file));
  if (`${folder}${sep}`.startsWith(`${dataDir}${sep}`))
    throw new BackupError(file, `${file} is in the data folder. Choose a file outside of it.`);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) throw new BackupError(file, `${file} is a folder. Name a file in it.`);
  if (stats !== undefined && !replaces)
    throw new BackupError(file, `${file} already exists. Choose another name, or replace it with --force.`);
};

/**
 * Writes a backup of a data folder to one compressed tar file with mode 0600. The backup contains everything that the
 * server cannot recreate, with a snapshot of the state and without partial objects. The server may keep running. The
 * file appears once it is complete.
 *
 * The file contains the services' environment variables and the content of volumes. Treat the file as a secret. It
 * contains secrets and private keys of certificates in encrypted form, and the secrets key only if `withSecretsKey` is
 * set.
 *
 * Throws a `DataFolderError` if the data folder cannot be read, or does not contain the requested key. Throws a
 * `BackupError` if the file is in the data folder, if it exists and `replace` is not set, or if the data folder changes
 * during every round.
 */
export const backupDataFolder = async (options: BackupOptions): Promise<BackupSummary> => {
  const {
    replace = false,
    withSecretsKey = false,
    signal = new AbortController().signal,
    onProgress = () => undefined,
  } = options;
  const [file, named] = [resolve(options.file), resolve(options.dataDir)];
  const dataDir = findData(named);
  try {
    checkPlace(file, dataDir, replace);
    await using work = await openWorkFolder(`${file}.part`);
    const partial = join(work.path, "backup.tar.gz");
    await using writer = new BackupWriter(partial, onProgress);
    const summary = await new DataFolderBackup({
      dataDir,
      named,
      work: work.path,
      writer,
      withSecretsKey,
      signal,
    }).run();
    checkPlace(file, dataDir, replace);
    await rename(partial, file);
    syncFolder(dirname(file));
    return { file, bytes: (await stat(file)).size, ...summary };
  } catch (error) {
    throw explainFileError(error, file) ?? error;
  }
};
