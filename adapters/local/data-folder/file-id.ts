import { statSync } from "node:fs";

/**
 * Identifies the file at a path, or returns undefined if there is none. Another file at the same path has another id. Does
 * not open the file, because closing any handle of a file drops SQLite's locks on it.
 */
export const fileIdOf = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
};
