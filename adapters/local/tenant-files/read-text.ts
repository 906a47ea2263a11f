/** Reads a file that tenant code may have replaced. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/**
 * Throws if the path is not a regular file. A symbolic link may lead elsewhere, and a pipe would block this process.
 */
export const readText = (path: string): string => {
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) throw new Error(`${path} is not a regular file`);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
};
