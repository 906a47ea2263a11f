/** Deletes data such as images, caches and logs from a data folder. Keeps the volumes. */
import { join } from "node:path";
import { removeTree } from "../tenant-files/remove-tree.ts";
import { withCompanions } from "./layout.ts";

/** An explicit list preserves files and folders that later versions may add. */
const TEMPORARY = [
  ...["billing.sqlite", "engine.sqlite"].flatMap(withCompanions),
  ...["cache", "engine", "images", "leftovers", "logs", "run", "sandbox", "spool", "sql", "tools"],
];

/**
 * Also keeps the state, which contains the names and owners of the volumes. The caller must ensure that no server uses
 * the folder.
 */
export const clearDataFolder = async (dataDir: string): Promise<void> => {
  for (const name of TEMPORARY) await removeTree(join(dataDir, name));
};
