/** An in-memory file system that a test can fill. Mounting requires root. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, statSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { folderWith } from "../archives/folders.ts";

export interface SmallDisk extends Disposable {
  readonly path: string;
  /** Leaves `room` bytes free; defaults to none. */
  fill(room?: number): void;
  free(): void;
}

const ZEROS = Buffer.alloc(1024 * 1024);

/** The file that `fill` writes. A service that fills the disk writes to it as well. */
export const ballastOn = (path: string): string => join(path, "ballast");

/** @param size as mount(8) reads it, such as `16m` */
export const smallDisk = (size: string): SmallDisk => {
  const folder = folderWith();
  const path = join(folder.path, "disk");
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path]);
  const ballast = ballastOn(path);
  return {
    path,
    fill: (room = 0) => {
      const file = openSync(ballast, "a");
      try {
        for (;;) {
          const { bavail, bsize } = statfsSync(path);
          if (bavail === 0) break;
          writeSync(file, ZEROS, 0, Math.min(ZEROS.length, bavail * bsize));
        }
      } catch (error) {
        // Another process filled the disk first.
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      } finally {
        closeSync(file);
      }
      if (room > 0) truncateSync(ballast, Math.max(0, statSync(ballast).size - room));
    },
    free: () => rmSync(ballast, { force: true }),
    [Symbol.dispose]: () => {
      execFileSync("umount", ["--lazy", path]);
      folder[Symbol.dispose]();
    },
  };
};
