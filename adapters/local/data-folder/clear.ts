/** Empties a data folder except for its volumes and what is needed to open them again. */
import { join } from "node:path";
import { removeTree } from "../tenant-files/remove-tree.ts";

/** Named one by one, so that a folder or file that a later version adds is kept. */
const TEMPORARY = [
  ...["", "-wal", "-shm", "-journal"].map((ending) => `billing.sqlite${ending}`),
  ...["cache", "images", "leftovers", "logs", "run", "sandbox", "spool", "sql", "tools"],
];

/** Keeps the state, because it has the names and owners of the volumes. No server may use the folder. */
export const clearDataFolder = async (dataDir: string): Promise<void> => {
  for (const name of TEMPORARY) await removeTree(join(dataDir, name));
};
