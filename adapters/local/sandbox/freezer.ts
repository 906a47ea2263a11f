/**
 * The kernel's freezer, which pauses all processes of a control group.
 * https://docs.kernel.org/admin-guide/cgroup-v1/freezer-subsystem.html and
 * https://docs.kernel.org/admin-guide/cgroup-v2.html#core-interface-files
 */
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tryOr } from "../../shared/runtime/try-or.ts";

export interface Freezer {
  freeze(): void;
  thaw(): void;
}

interface FreezerFile {
  readonly path: string;
  readonly frozen: string;
  readonly thawed: string;
}

const MOUNT = "/sys/fs/cgroup";

const freezerWith = ({ path, frozen, thawed }: FreezerFile): Freezer => ({
  freeze: () => writeFileSync(path, frozen),
  thaw: () => writeFileSync(path, thawed),
});

const version2File = (folder: string): FreezerFile => ({
  path: join(folder, "cgroup.freeze"),
  frozen: "1",
  thawed: "0",
});

/** Returns the freezer of a cgroups v2 group. */
export const freezerIn = (folder: string): Freezer => freezerWith(version2File(folder));

/** Returns the freezer file of the control group of a process. */
const freezerFileOf = (groups: string, mount: string): FreezerFile | undefined => {
  const [, version1] = /^\d+:freezer:(\/.+)$/m.exec(groups) ?? [];
  const [, version2] = /^0::(\/.+)$/m.exec(groups) ?? [];
  const files = [
    ...(version1 === undefined
      ? []
      : [{ path: join(mount, "freezer", version1, "freezer.state"), frozen: "FROZEN", thawed: "THAWED" }]),
    ...(version2 === undefined ? [] : [version2File(join(mount, version2))]),
  ];
  return files.find(({ path }) => existsSync(path));
};

/** Returns the control groups of a process, one on each line; empty if the process has ended. */
export const groupsOf = (pid: number): string => tryOr(() => readFileSync(`/proc/${pid}/cgroup`, "utf8"), "");

/** @param groups the result of `groupsOf` for a process of the group */
export const isFrozen = (groups: string, mount = MOUNT): boolean => {
  const file = freezerFileOf(groups, mount);
  return file !== undefined && tryOr(() => readFileSync(file.path, "utf8").trim() !== file.thawed, false);
};

/**
 * Returns the freezer of a container, or undefined if this process may not use it.
 * @param groups the result of `groupsOf` for the container's first process
 */
export const containerFreezer = (groups: string, container: string, mount = MOUNT): Freezer | undefined => {
  const file = freezerFileOf(groups, mount);
  // A group whose path lacks the container's id may contain other processes.
  if (!file?.path.includes(container)) return undefined;
  return tryOr(() => {
    accessSync(file.path, constants.W_OK);
    return freezerWith(file);
  }, undefined);
};
