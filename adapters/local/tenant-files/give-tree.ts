/**
 * Gives a folder and everything in it to another user. Services wrote the content, so the walk uses open handles and
 * follows no link: whatever a service swaps meanwhile, nothing outside the folder changes its owner.
 */
import { closeSync, constants, fchownSync, fstatSync, lchownSync, openSync, readdirSync } from "node:fs";
import { setImmediate as breathe } from "node:timers/promises";
import { isNoWay } from "./folder.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** Entries between two turns of the loop. */
const AT_ONCE = 250;
/** The walk holds one descriptor per level. Object paths are not this deep; deeper folders keep their owner. */
const DEEPEST = 1000;

/** A path in the open folder, as `openat(2)` takes it: later changes of the folder's name do not matter. */
const below = (fd: number, name: Buffer): Buffer => Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);

const openFolder = (fd: number, name: Buffer): number | undefined => {
  try {
    return openSync(below(fd, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    // Gone, or become something else, since it was listed.
    if (isNoWay(error)) return undefined;
    throw error;
  }
};

const giveEntry = (fd: number, name: Buffer, uid: number): void => {
  try {
    lchownSync(below(fd, name), uid, uid);
  } catch (error) {
    if (!isNoWay(error)) throw error;
  }
};

const walk = async (fd: number, uid: number, depth: number, progress: { looked: number }): Promise<void> => {
  for (const entry of readdirSync(`/proc/self/fd/${fd}`, { withFileTypes: true, encoding: "buffer" })) {
    if (++progress.looked % AT_ONCE === 0) await breathe();
    // Devices, pipes and sockets keep their owner: they hold no data.
    if (entry.isFile()) giveEntry(fd, entry.name, uid);
    if (!entry.isDirectory() || depth === DEEPEST) continue;
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

/** Walks run one after the other, because each holds many descriptors. */
let last: Promise<void> = Promise.resolve();

/**
 * Does nothing if the folder itself has the owner already. The walk changes the folder last, so a walk that a kill cut
 * short starts again.
 * @param fd the folder; the caller keeps it open until this resolves
 */
export const giveTree = (fd: number, uid: number): Promise<void> => {
  if (fstatSync(fd).uid === uid) return Promise.resolve();
  const given = last.then(async () => {
    if (fstatSync(fd).uid === uid) return;
    await walk(fd, uid, 0, { looked: 0 });
    fchownSync(fd, uid, uid);
  });
  last = given.catch(() => undefined);
  return given;
};

/** Like `giveTree`, by a path that only the platform can change. Does nothing unless the platform is root. */
export const giveFolder = async (path: string, uid: number): Promise<void> => {
  if (process.getuid?.() !== 0) return;
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    await giveTree(fd, uid);
  } finally {
    closeSync(fd);
  }
};
