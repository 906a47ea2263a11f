/** Creating a folder whose path a user chose. */
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
 * Makes the folder, and those above it that are missing. Returns whether it made any.
 *
 * Node's own recursive mkdir never returns if the system answers ENOENT in a folder that exists, as /proc does
 * (https://github.com/nodejs/node/issues/31481). This throws the system's error.
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
