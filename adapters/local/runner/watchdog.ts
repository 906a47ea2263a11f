/**
 * Limits without control groups: a command's memory is looked at every 100 ms, its processes every 500 ms, and
 * the command is ended where they pass its limits.
 */
import { allProcesses, memoryOf, type ProcessInfo } from "./proc.ts";
import type { Limits } from "./runner.ts";

const LOOK_MS = 100;
/** The whole process table costs more to read, so new children may go unseen this long. */
const TABLE_MS = 500;

export interface Watched {
  readonly limits: Limits;
  /** The command's processes within a process table. */
  readonly processesIn: (table: readonly ProcessInfo[]) => number[];
  readonly onExceeded: (what: "memory" | "processes") => void;
}

export class Watchdog {
  readonly #watched = new Map<Watched, number[]>();
  #timer: NodeJS.Timeout | undefined;
  #tableAt = 0;

  watch(one: Watched): () => void {
    this.#watched.set(one, []);
    this.#tableAt = 0;
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    return () => this.#unwatch(one);
  }

  #unwatch(one: Watched): void {
    this.#watched.delete(one);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const now = Date.now();
    if (now - this.#tableAt >= TABLE_MS) {
      this.#tableAt = now;
      this.#lookAtTable();
    }
    for (const [one, pids] of this.#watched)
      if (pids.reduce((sum, pid) => sum + memoryOf(pid), 0) > one.limits.memory) one.onExceeded("memory");
  }

  #lookAtTable(): void {
    const table = allProcesses();
    const threads = new Map(table.map((one) => [one.pid, one.threads]));
    for (const one of this.#watched.keys()) {
      const pids = one.processesIn(table);
      this.#watched.set(one, pids);
      if (pids.reduce((sum, pid) => sum + (threads.get(pid) ?? 0), 0) > one.limits.processes)
        one.onExceeded("processes");
    }
  }
}
