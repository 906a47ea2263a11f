/** The paths of sockets, which have a maximum length. */
import { readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The maximum length of a Unix socket's path in bytes. This is the limit of macOS, which is lower than the limit of
 * Linux: https://man7.org/linux/man-pages/man7/unix.7.html
 */
const MAX_PATH = 103;

/** Returns the path of the socket, or of a symbolic link to it if this path is too long for a socket. */
export const socketPath = (dataDir: string): string => join(dataDir, "engine", "engine.sock");

const isTooLong = (path: string): boolean => Buffer.byteLength(path) > MAX_PATH;

/** A path at which a server can create a socket. */
export interface SocketLocation {
  readonly path: string;
  /** Removes the temporary folder of the socket, if it has one. */
  remove(): Promise<void>;
}

/** Returns `wanted`, or a path in a new temporary folder of this user if `wanted` is too long for a socket. */
export const locateSocket = async (wanted: string): Promise<SocketLocation> => {
  if (!isTooLong(wanted)) return { path: wanted, remove: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), "portside-"));
  return { path: join(folder, "socket"), remove: () => rm(folder, { recursive: true, force: true }) };
};

/** Returns the path that a client can connect to. Throws if the path is too long and not a symbolic link. */
export const clientPath = (path: string): string => (isTooLong(path) ? readlinkSync(path) : path);
