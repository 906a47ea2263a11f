/** Creates folders at paths that a user chose. */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

/**
 * Creates a folder and its missing parents. Returns whether it created any.
 *
 * Node's recursive mkdir never returns if the system reports ENOENT in an existing folder, as in /proc
 * (https://github.com/nodejs/node/issues/31481). This function throws the system's error.
 */
export const makeFolders = (path: string, mode: number): boolean => {
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && isFolder(path)) return false;
    if (code !== "ENOENT" || existsSync(dirname(path))) throw error;
  }
  makeFolders(dirname(path), mode);
  mkdirSync(path, { mode });
  return true;
};
