/**
 * Folders that are given open, as paths that the engine can mount. Its name alone would do for no folder within a volume:
 * a service could put a link there before the engine looks. So it gets a place that nobody else can write, at which this
 * process, where it is root, mounts what it holds open: https://man7.org/linux/man-pages/man8/mount.8.html
 */
import { spawn } from "node:child_process";
import { existsSync, fchmodSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { OpenBind } from "../runner/runner.ts";
import type { Mounted } from "./settings.ts";

/** As it stands: mount would else look up its name, which may lead elsewhere a moment later. */
const OPEN_FOLDER = ["--no-canonicalize", "--bind", "/proc/self/fd/3"];

const isRoot = process.getuid?.() === 0;

const run = (program: string, args: readonly string[], fd?: number): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore", fd ?? "ignore"] });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });

/** Whether folders within volumes can be mounted. */
export const mountsWithin = isRoot && process.platform === "linux";

export class MountPoints {
  readonly #folder: string;

  /** @param folder made if it is missing */
  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Takes away what an earlier server left. */
  async sweep(): Promise<void> {
    // A data folder that was removed under the server is not made again.
    if (!existsSync(this.#folder)) return;
    for (const name of readdirSync(this.#folder)) await this.#leave(join(this.#folder, name));
  }

  /**
   * @param anybody a service that runs as whom it likes must be able to write there
   * @returns the mounts, and what to do when they are no longer used
   */
  async take(
    id: string,
    folders: readonly OpenBind[],
    anybody: boolean,
  ): Promise<{ readonly mounts: readonly Mounted[]; readonly ended: () => Promise<void> }> {
    const points: string[] = [];
    const ended = async () => {
      for (const point of points) await this.#leave(point);
    };
    const mounts: Mounted[] = [];
    for (const [index, { fd, host, inside, writable }] of folders.entries()) {
      if (anybody && writable) openToAll(fd);
      if (host !== undefined) {
        mounts.push({ host, inside, writable });
        continue;
      }
      const point = join(this.#folder, `${id}.${index}`);
      mkdirSync(point);
      points.push(point);
      if (!(await run("mount", [...OPEN_FOLDER, point], fd))) {
        await ended();
        throw new Error(`a folder of a volume could not be mounted at ${inside}`);
      }
      mounts.push({ host: point, inside, writable });
    }
    return { mounts, ended };
  }

  async #leave(point: string): Promise<void> {
    await run("umount", ["--lazy", point]);
    try {
      rmdirSync(point);
    } catch {
      // Something is still mounted there; the next start takes it away.
    }
  }
}

/** The folder lies where only the platform looks; its mode is the services' business alone. */
const openToAll = (fd: number): void => {
  try {
    fchmodSync(fd, 0o777);
  } catch {
    // A service made it, as somebody else.
  }
};
