/** Processes of this machine, read from /proc (proc(5)). On a machine without it every answer is empty. */
import { readdirSync, readFileSync, statfsSync, statSync } from "node:fs";

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  readonly threads: number;
}

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // It ended meanwhile, or belongs to somebody else.
    return undefined;
  }
};

/** Reads the text of /proc/PID/stat; undefined for a process that only waits to be reaped. Pure. */
export const parseStat = (pid: number, stat: string): ProcessInfo | undefined => {
  // The command stands in parentheses and may hold anything, so count from the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  const [parent, session, threads] = [1, 3, 17].map((at) => Number(fields[at])) as [number, number, number];
  return { pid, parent, session, threads };
};

/** One process; undefined where it is gone or only waits to be reaped. */
export const processInfo = (pid: number): ProcessInfo | undefined => {
  const stat = read(`/proc/${pid}/stat`);
  return stat === undefined ? undefined : parseStat(pid, stat);
};

export const allProcesses = (): ProcessInfo[] => {
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return [];
  }
  return names.flatMap((name) => (/^\d+$/.test(name) ? (processInfo(Number(name)) ?? []) : []));
};

/** A process and all that came from it, the root first. */
export const treeOf = (root: number, table: readonly ProcessInfo[]): number[] => {
  const children = Map.groupBy(table, (one) => one.parent);
  const tree = new Set(table.some((one) => one.pid === root) ? [root] : []);
  // The loop also visits what it adds to the set.
  for (const pid of tree) for (const child of children.get(pid) ?? []) tree.add(child.pid);
  return [...tree];
};

/** Bytes in memory that no file on a disk holds. */
export interface MemoryUse {
  /** The process's own. */
  readonly own: number;
  /** Of memory that processes can share: what this one has touched. */
  readonly shared: number;
}

export const memoryOf = (pid: number): MemoryUse => {
  const status = read(`/proc/${pid}/status`) ?? "";
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0) * 1024;
  return { own: bytes("RssAnon"), shared: bytes("RssShmem") };
};

const SHARED_MAPPING = /^(\w+)-(\w+) ..[-x]s (\w+) \S+ (\d+) +(?:\/dev\/zero|\/memfd:|\/SYSV)/gm;

/** How large each piece of shared memory without a file is, by its inode, as far as the text of /proc/PID/maps shows. Pure. */
export const parseSharedMappings = (text: string): Map<string, number> => {
  const found = new Map<string, number>();
  for (const [, from = "", to = "", offset = "", inode = ""] of text.matchAll(SHARED_MAPPING)) {
    const end = Number.parseInt(offset, 16) + Number.parseInt(to, 16) - Number.parseInt(from, 16);
    found.set(inode, Math.max(found.get(inode) ?? 0, end));
  }
  return found;
};

export const sharedMappingsOf = (pid: number): Map<string, number> =>
  parseSharedMappings(read(`/proc/${pid}/maps`) ?? "");

/** Bytes in a folder as the process sees it, if the folder is a file system in memory of this size; else 0. */
export const filesInMemory = (pid: number, folder: string, size: number): number => {
  try {
    const { bsize, blocks, bfree } = statfsSync(`/proc/${pid}/root${folder}`);
    return blocks === Math.ceil(size / bsize) ? (blocks - bfree) * bsize : 0;
  } catch {
    return 0;
  }
};

/** How many threads a user has now, which is what RLIMIT_NPROC counts. */
export const threadsOf = (uid: number | undefined): number =>
  allProcesses()
    .filter(({ pid }) => ownerOf(pid) === uid)
    .reduce((sum, { threads }) => sum + threads, 0);

const ownerOf = (pid: number): number | undefined => {
  try {
    return statSync(`/proc/${pid}`).uid;
  } catch {
    return undefined;
  }
};

/** The name of a process's program, cut to 15 characters by the kernel. */
export const programOf = (pid: number): string => (read(`/proc/${pid}/comm`) ?? "").trim();

/** The environment that a process was started with, one `NAME=value` each. */
export const environmentOf = (pid: number): string[] => (read(`/proc/${pid}/environ`) ?? "").split("\0");

/** Sends a signal; a process that is gone is no error. */
export const signalProcess = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already.
  }
};
