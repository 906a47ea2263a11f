/**
 * Reports changes of a source. Watches folders, not files: many programs save a file by renaming a new file over it,
 * and a watch on the file would continue to follow the old one. The `recursive` option of `fs.watch` has the same
 * problem, because it watches files on Linux.
 */
import { type FSWatcher, watch } from "node:fs";
import { basename, join, sep } from "node:path";
import { formatFileError } from "../../composition/file-error.ts";
import type { SourceFolder } from "./source-files.ts";

export interface SourceWatchOptions {
  /** The folders to watch now. */
  list(): Promise<readonly SourceFolder[]>;
  /** Called with the absolute paths that changed, once the folders have been quiet for a moment. */
  changed(paths: ReadonlySet<string>): void;
  /** Called when a folder cannot be listed or watched. Not called again while the message stays the same. */
  failed(message: string): void;
  readonly signal: AbortSignal;
  readonly settleMs?: number;
}

const SETTLE_MS = 300;
const RETRY_MS = 1000;

const watchError = (path: string, error: NodeJS.ErrnoException): string =>
  error.code === "ENOSPC"
    ? `Cannot watch '${path}': the system's limit on file watches is reached. Raise fs.inotify.max_user_watches.`
    : `Cannot watch '${path}': ${formatFileError(path, error)}`;

export class SourceWatch {
  readonly #options: SourceWatchOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  #folders: ReadonlyMap<string, readonly SourceFolder[]> = new Map();
  #changes = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #updating: Promise<boolean> = Promise.resolve(true);
  #failure: string | undefined;

  constructor(options: SourceWatchOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", () => this.#close());
  }

  /** Watches all current folders. Resolves to false, and retries later, if they cannot be listed. */
  update(): Promise<boolean> {
    this.#updating = this.#updating.then(() => this.#tryUpdate());
    return this.#updating;
  }

  async #tryUpdate(): Promise<boolean> {
    try {
      const failure = await this.#watchAll();
      this.#tell(failure);
      return true;
    } catch (error) {
      this.#tell((error as Error).message);
      this.#settle(RETRY_MS);
      return false;
    }
  }

  /** Lists again after finding new folders, because no event reports a folder created before its parent is watched. */
  async #watchAll(): Promise<string | undefined> {
    for (;;) {
      const folders = Map.groupBy(await this.#options.list(), ({ path }) => path);
      if (this.#options.signal.aborted) return undefined;
      this.#folders = folders;
      for (const path of this.#watchers.keys()) if (!folders.has(path)) this.#drop(path);
      const fresh = [...folders.keys()].filter((path) => !this.#watchers.has(path));
      const failures = fresh.flatMap((path) => this.#watch(path) ?? []);
      if (!fresh.some((path) => this.#watchers.has(path))) return failures[0];
    }
  }

  /** Watches the folder. Returns the error message if that fails; undefined if it succeeds or the folder is deleted. */
  #watch(path: string): string | undefined {
    try {
      const watcher = watch(path, (event, name) => this.#onEvent(path, event, name));
      watcher.on("error", () => this.#onEvent(path, "rename", null));
      this.#watchers.set(path, watcher);
      return undefined;
    } catch (error) {
      const failure = error as NodeJS.ErrnoException;
      // The folder was deleted after the listing.
      return failure.code === "ENOENT" ? undefined : watchError(path, failure);
    }
  }

  #onEvent(folder: string, event: string, name: string | null): void {
    // A deleted folder reports its own name. The next folder at this path needs a new watch.
    if (event === "rename" && (name === null || name === basename(folder))) this.#drop(folder);
    if (event === "rename" && name !== null) this.#drop(join(folder, name));
    const concerned = this.#folders.get(folder)?.some((one) => name === null || one.isRelevant(name)) === true;
    if (!concerned && this.#watchers.has(folder)) return;
    this.#changes.add(name === null ? folder : join(folder, name));
    this.#settle(this.#options.settleMs ?? SETTLE_MS);
  }

  /** Stops watching a folder and the folders in it. */
  #drop(folder: string): void {
    for (const [path, watcher] of this.#watchers)
      if (path === folder || path.startsWith(folder + sep)) {
        watcher.close();
        this.#watchers.delete(path);
      }
  }

  #settle(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#options.signal.aborted) this.#timer = setTimeout(() => void this.#settled(), ms);
  }

  async #settled(): Promise<void> {
    const changes = this.#changes;
    this.#changes = new Set();
    const updated = await this.update();
    if (this.#options.signal.aborted) return;
    if (updated) this.#options.changed(changes);
    else for (const path of changes) this.#changes.add(path);
  }

  #tell(failure: string | undefined): void {
    if (failure !== undefined && failure !== this.#failure) this.#options.failed(failure);
    this.#failure = failure;
  }

  #close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
