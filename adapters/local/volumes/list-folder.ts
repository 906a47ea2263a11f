/** Lists a volume's objects by path, one page at a time. Reads only the folders that the page needs. */
import { lstatSync, readdirSync, type Stats } from "node:fs";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import {
  comparePaths,
  folderBelow,
  isObjectFolder,
  parseObjectPath,
} from "../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { ObjectEntry, ObjectListing, ObjectQuery } from "../../../core/ports/volume-store.ts";
import { type Listed, listingOf } from "../../shared/volumes/listing.ts";
import { type Folder, isPathMissing } from "../tenant-files/folder.ts";

/** Returns the paths of a folder's entries. The path of a folder ends in `/`, so it sorts like the paths below it. */
const entriesOf = (folder: Folder, path: string): string[] => {
  const found: string[] = [];
  for (const entry of readdirSync(folder.here, { withFileTypes: true }))
    if (entry.isFile()) found.push(path + entry.name);
    else if (entry.isDirectory()) found.push(`${path}${entry.name}/`);
  return found.sort(comparePaths);
};

const isFolder = (path: string): boolean => path.endsWith("/");
const nameIn = (folder: string, path: string): string => path.slice(folder.length).replace(/\/$/, "");

/** Returns whether the walk enters this folder. Otherwise, the page lists the path itself. */
const isEntered = (path: string, { prefix, delimiter }: ObjectQuery): boolean =>
  isFolder(path) && (delimiter === undefined || folderBelow(prefix, path) !== path);

/** Returns whether the page may include the path or, for a folder that is entered, a path below it. */
const isWanted = (path: string, query: ObjectQuery): boolean => {
  const { prefix, after = "" } = query;
  const isLater = comparePaths(path, after) > 0;
  return isEntered(path, query)
    ? (path.startsWith(prefix) || prefix.startsWith(path)) && (after.startsWith(path) || isLater)
    : path.startsWith(prefix) && isLater;
};

/** The number of entries after which the walk yields to the event loop. */
const YIELD_EVERY = 250;

/**
 * Returns undefined if the file does not exist, or if its name is invalid in object paths, such as a name that is not
 * UTF-8.
 */
const objectAt = (folder: Folder, inside: string, path: string): ObjectEntry | undefined => {
  const name = parseObjectPath(path);
  if (name === undefined) return undefined;
  const stats: Stats | undefined = lstatSync(folder.at(nameIn(inside, path)), { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return undefined;
  return { path: name, size: stats.size, updated: timestampOf(instantOfMillis(Math.floor(stats.mtimeMs))) };
};

/** Returns undefined if the folder's name is invalid in object paths. */
const folderAt = (path: string): string | undefined => (isObjectFolder(path) ? path : undefined);

/**
 * Collects one more object or folder than the page needs.
 * @param inside the folder's path with a trailing `/`; empty for the root
 */
const collect = async (folder: Folder, inside: string, query: ObjectQuery, found: Listed[]): Promise<void> => {
  let visited = 0;
  for (const path of entriesOf(folder, inside)) {
    if (found.length > query.limit) return;
    if (!isWanted(path, query)) continue;
    if (++visited % YIELD_EVERY === 0) await yieldToEventLoop();
    if (!isEntered(path, query)) {
      const listed = isFolder(path) ? folderAt(path) : objectAt(folder, inside, path);
      if (listed !== undefined) found.push(listed);
      continue;
    }
    try {
      await using below = await folder.enter(nameIn(inside, path));
      await collect(below, path, query, found);
    } catch (error) {
      // The entry was removed or replaced after the listing.
      if (!isPathMissing(error)) throw error;
    }
  }
};

export const listFolder = async (root: Folder, query: ObjectQuery): Promise<ObjectListing> => {
  const found: Listed[] = [];
  await collect(root, "", query, found);
  return listingOf(found, query.limit);
};
