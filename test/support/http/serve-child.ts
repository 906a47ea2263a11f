/** Finds the server of `portside serve`, which is a child of the engine's process. */
import { readFileSync } from "node:fs";

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

/** Returns the pid of the server; undefined while there is none. */
export const serverOf = (engine: number): number | undefined =>
  textOf(`/proc/${engine}/task/${engine}/children`)
    .split(" ")
    .filter(Boolean)
    .map(Number)
    .find((pid) => textOf(`/proc/${pid}/cmdline`).includes("server-process"));
