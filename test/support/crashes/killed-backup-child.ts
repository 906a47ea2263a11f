/**
 * Backs up or restores, and kills itself after a number of bytes or before the given change of the file system. With
 * `count` it prints the number of changes instead.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [, , what, dataDir = "", file = "", when = "", number = ""] = process.argv;

let left = Number(number);
let changes = 0;
const die = (): void => {
  process.kill(process.pid, "SIGKILL");
};

const names = [
  "appendFile",
  "chmod",
  "chown",
  "copyFile",
  "lchown",
  "mkdir",
  "open",
  "rename",
  "rm",
  "rmdir",
  "symlink",
  "unlink",
  "writeFile",
];

/** Counts the call before it runs. */
const counted = (work: (...args: unknown[]) => unknown) =>
  function (this: unknown, ...args: unknown[]): unknown {
    changes++;
    if (when === "change" && changes === left) die();
    return work.apply(this, args);
  };

if (when !== "bytes") {
  for (const [target, ending] of [
    [fs.promises, ""],
    [fs, "Sync"],
  ] as const)
    for (const name of names) {
      const all = target as unknown as Record<string, (...args: unknown[]) => unknown>;
      const work = all[name + ending];
      if (work !== undefined) all[name + ending] = counted(work);
    }
  syncBuiltinESMExports();
}

// Imported late, so that it uses the counted calls.
const { backupDataFolder, restoreDataFolder } = await import("../../../adapters/local/index.ts");
const onProgress = (more: number) => {
  if (when !== "bytes") return;
  left -= more;
  if (left <= 0) die();
};
await (what === "backup" ? backupDataFolder : restoreDataFolder)({ dataDir, file, replace: true, onProgress });
if (when === "count") console.log(changes);
