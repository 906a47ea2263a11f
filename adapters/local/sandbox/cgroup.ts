/**
 * Enforces limits with control groups. This process may create them if it runs as root or in a delegated cgroups v2
 * group. https://docs.kernel.org/admin-guide/cgroup-v1/ and https://docs.kernel.org/admin-guide/cgroup-v2.html
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LOW_WEIGHT } from "../../shared/runtime/low-priority.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import { signalProcess } from "../instances/proc.ts";
import { type Freezer, freezerIn } from "./freezer.ts";
import type { Limits } from "./runner.ts";

export interface ControlGroup {
  /** The `cgroup.procs` files to which a process writes its id to join the group. */
  readonly joinFiles: readonly string[];
  processes(): number[];
  /** True if the kernel has killed a process because the group exceeded its memory limit. */
  outOfMemory(): boolean;
  kill(): void;
  /** Pauses and resumes all processes. Undefined for version 1, where SIGKILL does not end frozen processes. */
  readonly freezer: Freezer | undefined;
  /** Removes the group. The caller must have killed its processes. */
  remove(): Promise<void>;
}

export interface ControlGroups {
  readonly version: 1 | 2;
  create(id: string, limits: Limits): ControlGroup;
  /**
   * Kills the processes of the selected groups of this scope, or of all its groups by default, and removes these
   * groups.
   */
  sweep(isSelected?: (id: string) => boolean): Promise<void>;
  /** Removes the folder of the scope, unless it contains groups. */
  close(): void;
}

const MOUNT = "/sys/fs/cgroup";
const PERIOD = 100_000;
/** The default weight in each version. */
const SHARES = 1024;
const WEIGHT = 100;

const writeIfPresent = (path: string, value: string): void => {
  if (existsSync(path)) writeFileSync(path, value);
};

const readNumbers = (path: string): number[] =>
  tryOr(() => readFileSync(path, "utf8").split("\n").filter(Boolean).map(Number), []);

const oomKills = (path: string): number =>
  tryOr(() => Number(/^oom_kill (\d+)/m.exec(readFileSync(path, "utf8"))?.[1] ?? 0), 0);

/** The kernel does not remove a group (EBUSY) until its last process has ended. */
const removeFolder = async (path: string): Promise<void> => {
  for (let tries = 0; tries < 100; tries++) {
    try {
      return rmdirSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      for (const pid of readNumbers(join(path, "cgroup.procs"))) signalProcess(pid, "SIGKILL");
      await sleep(20);
    }
  }
};

const subfolders = (path: string): string[] =>
  tryOr(() => readdirSync(path, { withFileTypes: true }), [])
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(path, name));

const groupAt = (folders: readonly string[], oomFile: string, freezer?: Freezer): ControlGroup => {
  const processes = () => [...new Set(folders.flatMap((folder) => readNumbers(join(folder, "cgroup.procs"))))];
  return {
    joinFiles: folders.map((folder) => join(folder, "cgroup.procs")),
    processes,
    outOfMemory: () => oomKills(oomFile) > 0,
    kill: () => {
      for (const pid of processes()) signalProcess(pid, "SIGKILL");
    },
    freezer,
    remove: async () => {
      for (const folder of folders) await removeFolder(folder);
    },
  };
};

type RootedGroups = Pick<ControlGroups, "sweep" | "close">;

const groupsIn = (roots: readonly string[]): RootedGroups => ({
  sweep: async (isSelected = () => true) => {
    for (const root of roots)
      for (const folder of subfolders(root)) if (isSelected(basename(folder))) await removeFolder(folder);
  },
  close: () => {
    // The kernel refuses to remove a group that contains groups.
    for (const root of roots) tryOr(() => rmdirSync(root), undefined);
  },
});

const CONTROLLERS = ["memory", "cpu", "pids"] as const;

const delegateControllers = (folder: string): void =>
  writeFileSync(join(folder, "cgroup.subtree_control"), CONTROLLERS.map((name) => `+${name}`).join(" "));

const version1 = (mount: string, scope: string): ControlGroups => {
  const roots = CONTROLLERS.map((controller) => join(mount, controller, scope));
  return {
    version: 1,
    create: (id, limits) => {
      const [memory, cpu, pids] = roots.map((root) => join(root, id)) as [string, string, string];
      for (const folder of [memory, cpu, pids]) mkdirSync(folder, { recursive: true });
      writeFileSync(join(memory, "memory.limit_in_bytes"), String(limits.memory));
      writeIfPresent(join(memory, "memory.memsw.limit_in_bytes"), String(limits.memory));
      writeFileSync(join(cpu, "cpu.cfs_period_us"), String(PERIOD));
      writeFileSync(join(cpu, "cpu.cfs_quota_us"), String(limits.cpu * PERIOD));
      if (limits.yieldsCpu) writeFileSync(join(cpu, "cpu.shares"), String(SHARES * LOW_WEIGHT));
      writeFileSync(join(pids, "pids.max"), String(limits.processes));
      return groupAt([memory, cpu, pids], join(memory, "memory.oom_control"));
    },
    ...groupsIn(roots),
  };
};

const version2 = (mount: string, scope: string): ControlGroups => {
  const root = join(mount, scope);
  return {
    version: 2,
    create: (id, limits) => {
      mkdirSync(root, { recursive: true });
      delegateControllers(root);
      const folder = join(root, id);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "memory.max"), String(limits.memory));
      writeIfPresent(join(folder, "memory.swap.max"), "0");
      writeFileSync(join(folder, "cpu.max"), `${limits.cpu * PERIOD} ${PERIOD}`);
      if (limits.yieldsCpu) writeFileSync(join(folder, "cpu.weight"), String(WEIGHT * LOW_WEIGHT));
      writeFileSync(join(folder, "pids.max"), String(limits.processes));
      return groupAt([folder], join(folder, "memory.events"), freezerIn(folder));
    },
    ...groupsIn([root]),
  };
};

/** A folder with this prefix contains the groups of one scope. */
const PREFIX = "portside-";

/** Returns the `cgroup.procs` files of the Portside control groups to which the process belongs. */
export const groupFilesOf = (pid: number, mount = MOUNT): string[] =>
  readFileSync(`/proc/${pid}/cgroup`, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, controllers, path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      if (controllers === undefined || !path.split("/").some((part) => part.startsWith(PREFIX))) return [];
      const mounts = controllers === "" ? [mount, join(mount, "unified")] : [join(mount, controllers)];
      return mounts.map((folder) => join(folder, path, "cgroup.procs")).filter((file) => existsSync(file));
    });

const isWritable = (path: string): boolean =>
  tryOr(() => {
    accessSync(path, constants.W_OK);
    return true;
  }, false);

const offersAll = (folder: string): boolean => {
  const offered = readFileSync(join(folder, "cgroup.controllers"), "utf8").trim().split(/\s+/);
  return CONTROLLERS.every((name) => offered.includes(name)) && isWritable(join(folder, "cgroup.subtree_control"));
};

/**
 * Returns the root group, or undefined if this process may not use it. Throws if no control groups are mounted. Also
 * throws in a container, where the root group contains processes.
 */
const rootGroup = (mount: string): string | undefined => {
  if (!offersAll(mount)) return undefined;
  delegateControllers(mount);
  return mount;
};

/** The group to which this process moves, because a group that delegates controllers must not contain processes. */
const SUPERVISOR = "supervisor";

/** Returns the group of this process if it is delegated, for example by systemd's `Delegate=yes`. */
const delegatedGroup = (mount: string, self: string): string | undefined => {
  const own = /^0::(\/.+)$/m.exec(readFileSync(self, "utf8"))?.[1];
  if (own === undefined) return undefined;
  const folder = join(mount, own);
  const base = basename(folder) === SUPERVISOR ? dirname(folder) : folder;
  if (!offersAll(base) || !isWritable(join(base, "cgroup.procs"))) return undefined;
  const supervisor = join(base, SUPERVISOR);
  mkdirSync(supervisor, { recursive: true });
  writeFileSync(join(supervisor, "cgroup.procs"), String(process.pid));
  try {
    delegateControllers(base);
    return base;
  } catch (error) {
    // Delegation fails if the group contains another process.
    if (base === folder) writeFileSync(join(base, "cgroup.procs"), String(process.pid));
    throw error;
  }
};

/**
 * Returns the control groups that this process may use, or undefined.
 * @param scope a folder name that no other server uses
 * @param mount the mount point of the control group file system
 * @param self the file that lists the groups of this process
 */
export const findControlGroups = (
  scope: string,
  mount = MOUNT,
  self = "/proc/self/cgroup",
): ControlGroups | undefined => {
  if (CONTROLLERS.every((name) => isWritable(join(mount, name, "cgroup.procs")))) return version1(mount, scope);
  const group = tryOr(() => rootGroup(mount), undefined) ?? tryOr(() => delegatedGroup(mount, self), undefined);
  return group === undefined ? undefined : version2(group, scope);
};
