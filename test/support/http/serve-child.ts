/** Finds the processes that `portside serve` starts. */
import { readFileSync } from "node:fs";

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

const childrenOf = (pid: number): number[] =>
  textOf(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);

const childWith = (pid: number, script: string): number | undefined =>
  childrenOf(pid).find((child) => textOf(`/proc/${child}/cmdline`).includes(script));

/** Returns the pid of the server, which is a child of the engine; undefined while there is none. */
export const serverOf = (engine: number): number | undefined => childWith(engine, "server-process");

/** Returns the pid of the engine of `serve --supervise`; undefined while there is none. */
export const engineOf = (supervisor: number): number | undefined => childWith(supervisor, "hosts/cli/main.ts");

/** Returns the pids of a process's children, of their children, and so on. */
export const descendantsOf = (pid: number): number[] =>
  childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);

/** Returns the arguments of a process. */
export const argumentsOf = (pid: number): string[] => textOf(`/proc/${pid}/cmdline`).split("\0");
