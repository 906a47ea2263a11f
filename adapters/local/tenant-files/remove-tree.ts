/**
 * Removes folders that builds and services wrote in. Whatever they did there, such as taking away every right or
 * nesting folders deeper than a path is long, must not stand in the platform's way.
 */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

export const removeTree = async (path: string): Promise<void> => {
  try {
    // Tried again where the last writer is still on its way out.
    await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  } catch {
    await run("sh", ["-c", 'chmod -R u+rwx "$1" 2>/dev/null; rm -rf "$1"', "sh", path]);
  }
};
