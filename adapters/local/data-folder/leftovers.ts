/**
 * Removes obsolete trees of files, such as unfinished images. The server moves a tree aside immediately, and a process
 * with low priority deletes it. Therefore startup, builds and requests do not wait for the deletion of many files.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "../../../core/ports/system.ts";
import { packagedScript } from "../../shared/runtime/packaged-script.ts";
import { codeOf } from "../tenant-files/folder.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";
import { emptyFolder } from "./empty-folder.ts";

const script = packagedScript(
  import.meta.url,
  "adapters/local/data-folder/leftovers",
  "adapters/local/data-folder/sweep",
);
const OPTIONS = ["--disable-warning=ExperimentalWarning", "--max-old-space-size=128"];

export class Leftovers {
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #script: URL | null;
  #sweeper: ChildProcess | undefined;
  #sweeping: Promise<void> | undefined;
  /** True if trees were moved aside after the current removal began. */
  #hasMore = false;
  #isClosed = false;

  /**
   * @param folder a folder on the same file system as the trees
   * @param sweep the script of the process; null in a bundle, where this process deletes the trees
   */
  constructor(folder: string, logger: Logger, sweep: URL | null = script) {
    this.#folder = folder;
    this.#logger = logger;
    this.#script = sweep;
  }

  /** Starts removing the leftovers of an earlier server. */
  async open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    if ((await readdir(this.#folder)).length > 0) this.#sweep();
  }

  /** Removes the tree if it exists. Resolves when the path is free. */
  async take(path: string): Promise<void> {
    try {
      // Most trees are empty folders, which need no separate process.
      await rmdir(path);
      return;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
    }
    try {
      await rename(path, join(this.#folder, randomUUID()));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      // For example, the tree is on another file system.
      await removeTree(path);
      return;
    }
    this.#sweep();
  }

  /** Stops the removal. The next server continues it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sweeping;
    const sweeper = this.#sweeper;
    if (sweeper === undefined) return;
    const ended = new Promise((resolve) => sweeper.once("close", resolve));
    sweeper.kill("SIGKILL");
    await ended;
  }

  #sweep(): void {
    this.#hasMore = true;
    if (this.#sweeper !== undefined || this.#sweeping !== undefined || this.#isClosed) return;
    this.#hasMore = false;
    if (this.#script === null) this.#sweepHere();
    else this.#startSweeper(this.#script);
  }

  #sweepHere(): void {
    const failed = (name: string, cause: unknown) => this.#logger.warn("could not remove a leftover", { name, cause });
    this.#sweeping = emptyFolder(this.#folder, failed, () => this.#isClosed)
      .catch((cause: unknown) => this.#logger.warn("could not remove leftovers", { cause }))
      .finally(() => {
        this.#sweeping = undefined;
        if (this.#hasMore) this.#sweep();
      });
  }

  #startSweeper(sweep: URL): void {
    // When this process ends, the sweeper's standard input closes, and the sweeper ends too.
    const sweeper = spawn(process.execPath, [...OPTIONS, fileURLToPath(sweep), this.#folder], {
      stdio: ["pipe", "ignore", "pipe"],
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
    });
    this.#sweeper = sweeper;
    let problems = "";
    sweeper.stderr.on("data", (text: Buffer) => {
      if (problems.length < 4096) problems += text.toString();
    });
    sweeper.stdin.on("error", () => undefined);
    sweeper.once("error", (cause) => this.#logger.warn("could not remove leftovers", { cause }));
    sweeper.once("close", () => {
      this.#sweeper = undefined;
      if (problems !== "") this.#logger.warn("could not remove some leftovers", { problems });
      if (this.#hasMore) this.#sweep();
    });
  }
}
