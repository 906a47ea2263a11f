import { statSync } from "node:fs";

/**
 * Returns an id of the file at a path; undefined if no file exists. If another file replaces the file, the id changes.
 * Does not open the file, because closing a handle would drop this process's SQLite locks on the file.
 */
export const fileIdOf = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
};
