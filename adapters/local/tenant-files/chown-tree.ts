/**
 * Changes the owner of a folder and of the files and folders in it. Services may change the content during the walk, so
 * the walk uses open handles and does not follow symbolic links. Files outside the folder keep their owner.
 */
import { closeSync, constants, fchownSync, fstatSync, lchownSync, openSync, readdirSync } from "node:fs";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { isPathMissing } from "./folder.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** Number of entries after which the walk yields to the event loop. */
const YIELD_EVERY = 250;
/** The walk holds one file descriptor per level. Deeper folders keep their owner. No object path is this deep. */
const MAX_DEPTH = 1000;

/**
 * Returns a path to an entry of the open folder. Renaming the folder does not redirect the path, as with `openat(2)`.
 */
const below = (fd: number, name: Buffer): Buffer => Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);

const openFolder = (fd: number, name: Buffer): number | undefined => {
  try {
    return openSync(below(fd, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    // The entry was removed or replaced after the listing.
    if (isPathMissing(error)) return undefined;
    throw error;
  }
};

const chownEntry = (fd: number, name: Buffer, uid: number): void => {
  try {
    lchownSync(below(fd, name), uid, uid);
  } catch (error) {
    if (!isPathMissing(error)) throw error;
  }
};

const walk = async (fd: number, uid: number, depth: number, progress: { visited: number }): Promise<void> => {
  for (const entry of readdirSync(`/proc/self/fd/${fd}`, { withFileTypes: true, encoding: "buffer" })) {
    if (++progress.visited % YIELD_EVERY === 0) await yieldToEventLoop();
    // Links, devices, pipes and sockets keep their owner, because they contain no data.
    if (entry.isFile()) chownEntry(fd, entry.name, uid);
    if (!entry.isDirectory() || depth === MAX_DEPTH) continue;
    const inner = openFolder(fd, entry.name);
    if (inner === undefined) continue;
    try {
      await walk(inner, uid, depth + 1, progress);
      fchownSync(inner, uid, uid);
    } finally {
      closeSync(inner);
    }
  }
};

/** Serializes walks, because each holds many file descriptors. */
let last: Promise<void> = Promise.resolve();

/**
 * Changes the owner of the folder and its content. Does nothing if the folder already has the owner. The walk changes
 * the folder last, so the next call repeats an interrupted walk.
 * @param fd the folder; the caller must keep it open until the promise resolves
 */
export const chownTree = (fd: number, uid: number): Promise<void> => {
  if (fstatSync(fd).uid === uid) return Promise.resolve();
  const given = last.then(async () => {
    if (fstatSync(fd).uid === uid) return;
    await walk(fd, uid, 0, { visited: 0 });
    fchownSync(fd, uid, uid);
  });
  last = given.catch(() => undefined);
  return given;
};

/** Like `chownTree`, for a path that only the platform can change. Does nothing unless this process runs as root. */
export const chownFolder = async (path: string, uid: number): Promise<void> => {
  if (process.getuid?.() !== 0) return;
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    await chownTree(fd, uid);
  } finally {
    closeSync(fd);
  }
};
