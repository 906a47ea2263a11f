/** Maps a folder's objects to local paths, all below one folder and without collisions. */
import { statSync } from "node:fs";
import { resolve, sep } from "node:path";
import { objectPathProblem } from "../../../../core/domain/volumes/object-path.ts";
import { CommandError } from "../../terminal/io.ts";
import { pluralize } from "./format.ts";
import type { ListedObject } from "./objects.ts";
import { partOf, tagOf } from "./part-file.ts";

export interface Target {
  readonly object: ListedObject;
  /** An absolute path. */
  readonly path: string;
}

/**
 * Returns the local path of an object. Does not trust the platform: an object path that leads out of the folder could
 * overwrite other files.
 */
const targetOf = (folder: string, prefix: string, object: ListedObject): Target => {
  const path = resolve(folder, object.path.slice(prefix.length));
  const good = objectPathProblem(object.path) === undefined && object.path.startsWith(prefix);
  if (good && path.startsWith(folder.endsWith(sep) ? folder : folder + sep)) return { object, path };
  throw new CommandError(`The platform lists the invalid object path '${object.path}'. Nothing was downloaded.`);
};

/** @param folder an absolute path */
export const targetsOf = (folder: string, prefix: string, objects: readonly ListedObject[]): readonly Target[] => {
  const targets = objects.map((object) => targetOf(folder, prefix, object));
  const taken = new Set(targets.map(({ path }) => path));
  for (const { object, path } of targets)
    for (const working of [partOf(path), tagOf(path)])
      if (taken.has(working))
        throw new CommandError(
          `The partial download of '${object.path}' would overwrite another object at '${working}'. Download the two separately.`,
        );
  return targets;
};

/**
 * Returns whether the file has the object's size and modification time, compared in whole seconds. Returns undefined if
 * there is no file.
 */
const isDownloaded = ({ object, path }: Target): boolean | undefined => {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const updated = Math.floor(Date.parse(object.updated) / 1000);
  return stats.isFile() && stats.size === object.size && Math.floor(stats.mtimeMs / 1000) === updated;
};

/** Returns the targets to download. Throws if one exists with a different size or time, unless `force` is set. */
export const missingTargets = (targets: readonly Target[], force: boolean): readonly Target[] => {
  const states = targets.map((target) => ({ target, downloaded: isDownloaded(target) }));
  const missing = states.filter(({ downloaded }) => downloaded !== true).map(({ target }) => target);
  const conflicts = force ? [] : states.filter(({ downloaded }) => downloaded === false).map(({ target }) => target);
  const [first] = conflicts;
  if (first === undefined) return missing;
  const others =
    conflicts.length > 1 ? ` and ${pluralize(conflicts.length - 1, "other file")} already exist` : " already exists";
  throw new CommandError(
    `'${first.path}'${others} with a different size or modification time. Pass --force to replace existing files.`,
  );
};
