/** `portside restore` */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { restore as restoreFile } from "../../composition/backup.ts";
import { flag } from "../arguments.ts";
import { type Command, printResult } from "../command.ts";
import { paint } from "../terminal/colour.ts";
import { safeText } from "../terminal/safe-text.ts";
import { backupOptions, formatContent, transfer } from "./backup-command.ts";

export const command: Command = {
  usage: "restore FILE [options]",
  options: {
    ...backupOptions,
    force: flag("Replace a data folder that is not empty, and keep the old one under a new name"),
  },
  positionals: { min: 1, max: 1 },
  examples: ["restore nightly.tar.gz --data-dir restored", "restore --force nightly.tar.gz"],
  notes: [
    "Stop the server that uses the data folder first. Restore checks FILE before it replaces anything.",
    "Run the command as the server's user or as root. If root runs it, the files get the owner of the replaced folder. If",
    "that owner is root, or there was no folder, the files of accounts keep their owners, and all others belong to root.",
  ],
  run: async (input, io) => {
    const total = statSync(resolve(io.cwd, input.positionals[0] as string), { throwIfNoEntry: false })?.size;
    const result = await transfer(input, io, restoreFile, total);
    const { dataDir, deployments, volumes, objects, createdAt, kept, missingKey } = result;
    const done = paint(io, "green", "Restored");
    const lines = [
      `${done} ${formatContent(result)}, as of ${createdAt}, to ${safeText(io, dataDir)}.`,
      ...(kept === undefined ? [] : [safeText(io, `The previous data folder is now ${kept}.`)]),
      ...(missingKey === undefined
        ? []
        : [
            safeText(
              io,
              `The file does not contain the secrets key. Copy the previous secrets.key to ${missingKey}, or name it with --secrets-key-file.`,
            ),
          ]),
      safeText(io, `Next: portside serve --data-dir ${dataDir}`),
    ];
    const answer = {
      data_dir: dataDir,
      created_at: createdAt,
      deployments,
      volumes,
      objects,
      kept,
      missing_key: missingKey,
    };
    return printResult(input, io, answer, lines.join("\n"));
  },
};
