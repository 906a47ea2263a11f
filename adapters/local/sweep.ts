/** The process that removes everything in the folder that it is given, one tree after the other, with low priority. */
import { readdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { removeTree } from "./tenant-files/remove-tree.ts";

const folder = process.argv[2] as string;
// The server keeps this open for as long as it runs.
process.stdin.once("end", () => process.exit(0)).resume();
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

/** Trees that could not be removed; the next start tries them again. */
const failed = new Set<string>();
for (;;) {
  const names = readdirSync(folder).filter((name) => !failed.has(name));
  if (names.length === 0) break;
  for (const name of names)
    await removeTree(join(folder, name)).catch((error: unknown) => {
      failed.add(name);
      process.stderr.write(`${name}: ${error}\n`);
    });
}
process.exit(0);
