/** Maps a folder's objects to local paths, all below one folder and without collisions. */
import { statSync } from "node:fs";
import { resolve, sep } from "node:path";
import { objectPathProblem } from "../../../../core/domain/volumes/object-path.ts";
import { CommandError } from "../../terminal/io.ts";
import type { ListedObject } from "./objects.ts";
import { partOf, tagOf } from "./part-file.ts";

export interface Target {
  readonly object: ListedObject;
  /** An absolute path. */
  readonly path: string;
}

/** Does not trust the platform: an object name that leads out of the folder could overwrite any file. */
const targetOf = (folder: string, prefix: string, object: ListedObject): Target => {
  const path = resolve(folder, object.path.slice(prefix.length));
  const good = objectPathProblem(object.path) === undefined && object.path.startsWith(prefix);
  if (good && path.startsWith(folder.endsWith(sep) ? folder : folder + sep)) return { object, path };
  throw new CommandError(`The platform lists '${object.path}', which is no name of an object. Nothing was fetched.`);
};

/** @param folder an absolute path */
export const targetsOf = (folder: string, prefix: string, objects: readonly ListedObject[]): readonly Target[] => {
  const targets = objects.map((object) => targetOf(folder, prefix, object));
  const taken = new Set(targets.map(({ path }) => path));
  for (const { object, path } of targets)
    for (const working of [partOf(path), tagOf(path)])
      if (taken.has(working))
        throw new CommandError(
          `'${object.path}' is kept in '${working}' while it comes, and another object goes there. Get the two one by one.`,
        );
  return targets;
};

/** What `get` has brought before has the object's size and its time, which storages tell to the second. */
const isThere = ({ object, path }: Target): boolean | undefined => {
  const present = statSync(path, { throwIfNoEntry: false });
  if (present === undefined) return undefined;
  const updated = Math.floor(Date.parse(object.updated) / 1000);
  return present.isFile() && present.size === object.size && Math.floor(present.mtimeMs / 1000) === updated;
};

/** Those that are still to be fetched. Files of other content are only replaced where that is wanted. */
export const missingTargets = (targets: readonly Target[], force: boolean): readonly Target[] => {
  const states = targets.map((target) => ({ target, there: isThere(target) }));
  const missing = states.filter(({ there }) => there !== true).map(({ target }) => target);
  const inTheWay = force ? [] : states.filter(({ there }) => there === false).map(({ target }) => target);
  const [first] = inTheWay;
  if (first === undefined) return missing;
  const others = inTheWay.length > 1 ? ` and ${inTheWay.length - 1} others are` : " is";
  throw new CommandError(`'${first.path}'${others} there already, and not the same. Replace with --force.`);
};
