/**
 * Converts open folders into paths that the container engine can mount. The path of a folder in a volume is not safe,
 * because a service could replace the folder with a symbolic link before the container engine opens the path. Therefore
 * root mounts the open folder at a path where no other user can write:
 * https://man7.org/linux/man-pages/man8/mount.8.html
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, fchmodSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { Bind, OpenBind } from "../sandbox/runner.ts";

/** Mounts the folder that is open as descriptor 3. */
const OPEN_FOLDER = ["--no-canonicalize", "--bind", "/proc/self/fd/3"];

const isRoot = process.getuid?.() === 0;

const run = async (program: string, args: readonly string[], fd?: number): Promise<boolean> => {
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore", fd ?? "ignore"] });
  const [code] = await once(child, "exit").catch(() => []);
  return code === 0;
};

/** Whether services can mount a folder of a volume (`sub_path`). */
export const mountsWithin = isRoot && process.platform === "linux";

export class MountPoints {
  readonly #folder: string;

  /** @param folder created if it is missing */
  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Removes the mount points of the selected jobs, or of all jobs by default. */
  async sweep(isSelected: (id: string) => boolean = () => true): Promise<void> {
    // The folder is missing if the data folder was removed while the server was running.
    if (!existsSync(this.#folder)) return;
    for (const name of readdirSync(this.#folder)) if (isSelected(name)) await this.#unmount(join(this.#folder, name));
  }

  /**
   * @param anyUser whether the service may run as any user; if so, every user gets write permission on the writable
   * folders
   * @returns the mounts, and a function that removes them
   */
  async mount(
    id: string,
    folders: readonly OpenBind[],
    anyUser: boolean,
  ): Promise<{ readonly mounts: readonly Bind[]; readonly cleanUp: () => Promise<void> }> {
    const points: string[] = [];
    const cleanUp = async () => {
      for (const point of points) await this.#unmount(point);
    };
    const mounts: Bind[] = [];
    for (const [index, { fd, host, inside, writable }] of folders.entries()) {
      if (anyUser && writable) permitEveryUser(fd);
      if (host !== undefined) {
        mounts.push({ host, inside, writable });
        continue;
      }
      const point = join(this.#folder, `${id}.${index}`);
      mkdirSync(point);
      points.push(point);
      if (!(await run("mount", [...OPEN_FOLDER, point], fd))) {
        await cleanUp();
        throw new Error(`could not mount a folder of a volume at ${inside}`);
      }
      mounts.push({ host: point, inside, writable });
    }
    return { mounts, cleanUp };
  }

  async #unmount(point: string): Promise<void> {
    await run("umount", ["--lazy", point]);
    try {
      rmdirSync(point);
    } catch {
      // The folder is still mounted. The next start of the server removes it.
    }
  }
}

/**
 * Lets every user write to the folder. Only services can use this permission, because other users cannot reach the
 * folder.
 */
const permitEveryUser = (fd: number): void => {
  try {
    fchmodSync(fd, 0o777);
  } catch {
    // Another user owns the folder, because a service created it.
  }
};
