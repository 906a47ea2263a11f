/** Moves damaged or replaced files of a data folder to `set-aside` instead of deleting them. */
import { randomUUID } from "node:crypto";
import { lstatSync, mkdirSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { syncFolder } from "../state/check-file.ts";

export const SET_ASIDE = "set-aside";

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/**
 * Moves the named files and folders, if they exist, to a new folder.
 * @param names paths below the data folder
 * @returns the new folder, or undefined if there was nothing to move
 */
export const setAside = (dataDir: string, names: readonly string[]): string | undefined => {
  const present = names.filter((name) => exists(join(dataDir, name)));
  if (present.length === 0) return undefined;
  const stamp = new Date().toISOString().replaceAll(":", "-");
  const folder = join(dataDir, SET_ASIDE, `${stamp}-${randomUUID().slice(0, 8)}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of present) renameSync(join(dataDir, name), join(folder, basename(name)));
  syncFolder(folder);
  syncFolder(dataDir);
  return folder;
};
