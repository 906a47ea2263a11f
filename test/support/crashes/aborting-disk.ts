/** A file system that becomes read-only while files on it are open, as after a disk error. Requires root. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folderWith } from "../archives/folders.ts";

export interface AbortingDisk extends Disposable {
  readonly path: string;
  abort(): void;
  /** Mounts the file system with the data that reached the disk, as after a reboot. Returns the new path. */
  remounted(): string;
}

export const abortingDisk = (megabytes: number): AbortingDisk => {
  const stack = new DisposableStack();
  const folder = stack.use(folderWith());
  const mount = (image: string, name: string): string => {
    const path = join(folder.path, name);
    mkdirSync(path);
    execFileSync("mount", ["-o", "loop", image, path]);
    stack.defer(() => execFileSync("umount", ["--lazy", path]));
    return path;
  };
  const [image, copy] = ["image", "copy"].map((name) => join(folder.path, name)) as [string, string];
  writeFileSync(image, "");
  truncateSync(image, megabytes * 1024 * 1024);
  execFileSync("mkfs.ext4", ["-q", image]);
  const path = mount(image, "disk");
  return {
    path,
    abort: () => execFileSync("mount", ["-o", "remount,abort", path]),
    remounted: () => {
      copyFileSync(image, copy);
      return mount(copy, "again");
    },
    [Symbol.dispose]: () => stack.dispose(),
  };
};
