/** The script of a low-priority process, which empties the folder that its first argument names. */
import { lowerPriority } from "../../shared/runtime/low-priority.ts";
import { emptyFolder } from "./empty-folder.ts";

const folder = process.argv[2] as string;
// The server keeps standard input open while it runs.
process.stdin.once("end", () => process.exit(0)).resume();
lowerPriority(process.pid);

await emptyFolder(folder, (name, error) => void process.stderr.write(`${name}: ${error}\n`));
process.exit(0);
