/**
 * Reads the processes of this machine from /proc (proc(5)). On a machine without /proc, results are empty, 0 or
 * undefined.
 */
import { readdirSync, readFileSync, statfsSync, statSync } from "node:fs";
import { tryOr } from "../../shared/runtime/try-or.ts";
import type { ResourceUse } from "../sandbox/runner.ts";

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  readonly threads: number;
}

/** Returns undefined if the process has ended, or if this user may not read the file. */
const read = (path: string): string | undefined => tryOr(() => readFileSync(path, "utf8"), undefined);

/** Parses the text of /proc/PID/stat. Returns undefined for a zombie. Pure. */
export const parseStat = (pid: number, stat: string): ProcessInfo | undefined => {
  // The program's name is in parentheses and may contain parentheses, so the other fields begin after the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  const [parent, session, threads] = [1, 3, 17].map((at) => Number(fields[at])) as [number, number, number];
  return { pid, parent, session, threads };
};

/** Returns undefined if the process has ended or is a zombie. */
export const processInfo = (pid: number): ProcessInfo | undefined => {
  const stat = read(`/proc/${pid}/stat`);
  return stat === undefined ? undefined : parseStat(pid, stat);
};

/** Returns the ids of all processes, including zombies, in ascending order. */
export const allPids = (): number[] =>
  tryOr(() => readdirSync("/proc"), [])
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);

export const allProcesses = (): ProcessInfo[] => allPids().flatMap((pid) => processInfo(pid) ?? []);

/** Returns a process and its descendants, the root first. */
export const treeOf = (root: number, table: readonly ProcessInfo[]): number[] => {
  const children = Map.groupBy(table, (one) => one.parent);
  const tree = new Set(table.some((one) => one.pid === root) ? [root] : []);
  // The loop also visits the processes that it adds.
  for (const pid of tree) for (const child of children.get(pid) ?? []) tree.add(child.pid);
  return [...tree];
};

/** Bytes of memory that are not backed by a file on a disk. */
export interface MemoryUse {
  readonly own: number;
  /** Only the shared memory that this process has touched. */
  readonly shared: number;
}

export const memoryOf = (pid: number): MemoryUse => {
  const status = read(`/proc/${pid}/status`) ?? "";
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0) * 1024;
  return { own: bytes("RssAnon"), shared: bytes("RssShmem") };
};

const SHARED_MAPPING = /^(\w+)-(\w+) ..[-x]s (\w+) \S+ (\d+) +(?:\/dev\/zero|\/memfd:|\/SYSV)/gm;

/** Returns the size of each anonymous shared mapping by inode, from the text of /proc/PID/maps. Pure. */
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

/** Returns the bytes used in a folder of a process, or 0 if the folder is not an in-memory file system of this size. */
export const filesInMemory = (pid: number, folder: string, size: number): number =>
  tryOr(() => {
    const { bsize, blocks, bfree } = statfsSync(`/proc/${pid}/root${folder}`);
    return blocks === Math.ceil(size / bsize) ? (blocks - bfree) * bsize : 0;
  }, 0);

/** Returns the user's current number of threads, which RLIMIT_NPROC limits. */
export const threadsOf = (uid: number | undefined): number =>
  allProcesses()
    .filter(({ pid }) => tryOr(() => statSync(`/proc/${pid}`).uid, undefined) === uid)
    .reduce((sum, { threads }) => sum + threads, 0);

/** Returns the program name of a process, which the kernel truncates to 15 bytes. */
export const programOf = (pid: number): string => (read(`/proc/${pid}/comm`) ?? "").trim();

/** Returns the environment with which the process started, as `NAME=value` entries. */
export const environmentOf = (pid: number): string[] => (read(`/proc/${pid}/environ`) ?? "").split("\0");

/** Returns the memory of the processes in bytes. Excludes memory that a file on a disk backs. */
export const memoryOfAll = (pids: readonly number[]): number =>
  pids.map(memoryOf).reduce((sum, { own, shared }) => sum + own + shared, 0);

/** The unit of the times in /proc/PID/stat: a hundredth of a second on every architecture that Node.js supports. */
const TICK_MS = 10;

/** Returns the CPU time of a process in milliseconds, from the text of /proc/PID/stat. Pure. */
export const parseCpuMillis = (stat: string): number => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ([11, 12].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0) || 0) * TICK_MS;
};

/** Returns the resources that the processes use. Returns undefined without processes or without /proc. */
export const useOf = (pids: readonly number[]): ResourceUse | undefined => {
  const memory = memoryOfAll(pids);
  const cpuMillis = pids.reduce((sum, pid) => sum + parseCpuMillis(read(`/proc/${pid}/stat`) ?? ""), 0);
  // Without /proc, the measured memory is 0.
  return memory === 0 ? undefined : { memory, cpuMillis };
};

/** Sends a signal. Ignores a process that has ended. */
export const signalProcess = (pid: number, signal: NodeJS.Signals): void =>
  void tryOr(() => process.kill(pid, signal), false);
