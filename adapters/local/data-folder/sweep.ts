/** The process that removes everything in the folder that it is given, with low priority. */
import { constants, setPriority } from "node:os";
import { emptyFolder } from "./empty-folder.ts";

const folder = process.argv[2] as string;
// The server keeps this open for as long as it runs.
process.stdin.once("end", () => process.exit(0)).resume();
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

await emptyFolder(folder, (name, error) => void process.stderr.write(`${name}: ${error}\n`));
process.exit(0);
