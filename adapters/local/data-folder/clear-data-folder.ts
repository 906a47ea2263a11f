/** Empties a data folder except for its volumes and the files that are needed to open them. */
import { join } from "node:path";
import { removeTree } from "../tenant-files/remove-tree.ts";
import { withCompanions } from "./layout.ts";

/** An explicit list, so that files and folders of later versions are preserved. */
const TEMPORARY = [
  ...["billing.sqlite", "engine.sqlite"].flatMap(withCompanions),
  ...["cache", "images", "leftovers", "logs", "run", "sandbox", "spool", "sql", "tools"],
];

/** Preserves the state, which contains the names and owners of the volumes. No server may use the folder. */
export const clearDataFolder = async (dataDir: string): Promise<void> => {
  for (const name of TEMPORARY) await removeTree(join(dataDir, name));
};
