/** Backs up or restores, and kills itself as soon as so many bytes are done. */
import { backupDataFolder, restoreDataFolder } from "../../adapters/local/index.ts";

const [, , what, dataDir = "", file = "", bytes] = process.argv;
let left = Number(bytes);
const onProgress = (more: number) => {
  left -= more;
  if (left <= 0) process.kill(process.pid, "SIGKILL");
};
await (what === "backup" ? backupDataFolder : restoreDataFolder)({ dataDir, file, replace: true, onProgress });
