/** Empties a data folder, except for its volumes and the files that a server needs to use them. */
import { join } from "node:path";
import { removeTree } from "../tenant-files/remove-tree.ts";
import { withCompanions } from "./layout.ts";

/** An explicit list, to preserve files and folders of later versions. */
const TEMPORARY = [
  ...["billing.sqlite", "engine.sqlite"].flatMap(withCompanions),
  ...["cache", "engine", "images", "leftovers", "logs", "run", "sandbox", "spool", "sql", "tools"],
];

/** Preserves the state, which contains the names and owners of the volumes. No server may use the folder. */
export const clearDataFolder = async (dataDir: string): Promise<void> => {
  for (const name of TEMPORARY) await removeTree(join(dataDir, name));
};
