/** `portside restore` */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { restore as restoreFile } from "../../composition/backup.ts";
import type { Command } from "../command.ts";
import { paint } from "../terminal/colour.ts";
import { print, printJson } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";
import { backupOptions, formatContent, transfer } from "./backup-command.ts";

export const restore: Command = {
  usage: "restore FILE [options]",
  options: {
    ...backupOptions,
    force: { type: "boolean", description: "Rename a data folder that has content, and take its place" },
  },
  positionals: { min: 1, max: 1 },
  examples: ["restore nightly.tar.gz --data-dir restored", "restore --force nightly.tar.gz"],
  notes: [
    "Stop the server of the data folder first. Restore checks FILE before it replaces anything.",
    "Run it as the server's user or as root. As root, the owner of the replaced folder becomes the owner of the files.",
  ],
  run: async (input, io) => {
    const total = statSync(resolve(io.cwd, input.positionals[0] as string), { throwIfNoEntry: false })?.size;
    const result = await transfer(input, io, { run: restoreFile, total });
    const { dataDir, deployments, volumes, objects, createdAt, kept } = result;
    if (input.flag("json")) {
      const counts = { deployments, volumes, objects };
      printJson(io, { data_dir: dataDir, created_at: createdAt, ...counts, ...(kept === undefined ? {} : { kept }) });
      return 0;
    }
    const done = paint(io, "green", "Restored");
    print(io, `${done} ${formatContent(result)}, as of ${createdAt}, to ${safeText(io, dataDir)}.`);
    if (kept !== undefined) print(io, safeText(io, `The previous data folder is now ${kept}.`));
    print(io, safeText(io, `Next: portside serve --data-dir ${dataDir}`));
    return 0;
  },
};
