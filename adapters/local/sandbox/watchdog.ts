/**
 * Enforces limits without control groups. Polls a command's memory every 100 ms and its processes every 500 ms, and
 * reports a command that exceeds its limits. Does not count the kernel's buffers for sockets and pipes.
 */
import { allProcesses, filesInMemory, memoryOf, type ProcessInfo, sharedMappingsOf } from "../instances/proc.ts";
import type { Limits } from "./runner.ts";

const POLL_MS = 100;
/** Reading the whole process table is expensive, so new processes may go unnoticed for this long. */
const TABLE_POLL_MS = 500;

export interface Watched {
  readonly limits: Limits;
  /** Returns the command's processes in a process table. */
  readonly processesIn: (table: readonly ProcessInfo[]) => number[];
  /** In-memory file systems of the command, each as large as its memory limit. */
  readonly memoryFolders: readonly string[];
  readonly onExceeded: (what: "memory" | "processes") => void;
}

interface Seen {
  readonly pids: readonly number[];
  /** The largest observed size of each shared mapping, by inode. All pages stay in memory while any part is mapped. */
  readonly shared: ReadonlyMap<string, number>;
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, one) => total + one, 0);

const sharedBy = (pids: readonly number[], before: Seen["shared"]): Map<string, number> => {
  const found = new Map<string, number>();
  for (const pid of pids)
    for (const [inode, bytes] of sharedMappingsOf(pid))
      found.set(inode, Math.max(bytes, found.get(inode) ?? before.get(inode) ?? 0));
  return found;
};

const memoryUsed = ({ limits, memoryFolders }: Watched, { pids, shared }: Seen): number => {
  const uses = pids.map(memoryOf);
  const last = pids.at(-1);
  const inFiles = last === undefined ? 0 : sum(memoryFolders.map((path) => filesInMemory(last, path, limits.memory)));
  const touched = sum(uses.map((use) => use.shared));
  return sum(uses.map((use) => use.own)) + Math.max(touched, sum(shared.values()) + inFiles);
};

export class Watchdog {
  readonly #watched = new Map<Watched, Seen>();
  #timer: NodeJS.Timeout | undefined;
  #tableAt = 0;

  watch(one: Watched): () => void {
    this.#watched.set(one, { pids: [], shared: new Map() });
    this.#tableAt = 0;
    this.#timer ??= setInterval(() => this.#poll(), POLL_MS).unref();
    return () => this.#unwatch(one);
  }

  #unwatch(one: Watched): void {
    this.#watched.delete(one);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #poll(): void {
    const now = Date.now();
    if (now - this.#tableAt >= TABLE_POLL_MS) {
      this.#tableAt = now;
      this.#pollTable();
    }
    for (const [one, seen] of this.#watched) if (memoryUsed(one, seen) > one.limits.memory) one.onExceeded("memory");
  }

  #pollTable(): void {
    const table = allProcesses();
    const threads = new Map(table.map((one) => [one.pid, one.threads]));
    for (const [one, { shared }] of this.#watched) {
      const pids = one.processesIn(table);
      this.#watched.set(one, { pids, shared: sharedBy(pids, shared) });
      if (sum(pids.map((pid) => threads.get(pid) ?? 0)) > one.limits.processes) one.onExceeded("processes");
    }
  }
}
