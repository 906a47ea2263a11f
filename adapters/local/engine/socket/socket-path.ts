/** The path of the engine's socket in a data folder. */
import { readlinkSync } from "node:fs";
import { join } from "node:path";

/**
 * The maximum length of a Unix socket's path in bytes. This is the limit of macOS, which is lower than the limit of
 * Linux: https://man7.org/linux/man-pages/man7/unix.7.html
 */
const MAX_PATH = 103;

/** Returns the path of the socket, or of a symbolic link to it if this path is too long for a socket. */
export const socketPath = (dataDir: string): string => join(dataDir, "engine", "engine.sock");

export const isTooLong = (path: string): boolean => Buffer.byteLength(path) > MAX_PATH;

/** Returns the path that a client can connect to. Throws if the path is too long and not a symbolic link. */
export const clientPath = (path: string): string => (isTooLong(path) ? readlinkSync(path) : path);
