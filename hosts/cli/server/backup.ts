/** `portside backup` */

import { backUp } from "../../composition/backup.ts";
import { flag } from "../arguments.ts";
import { type Command, printResult } from "../command.ts";
import { paint, warn } from "../terminal/colour.ts";
import { safeText } from "../terminal/safe-text.ts";
import { formatSize, pluralize } from "../volumes/transfer/format.ts";
import { backupOptions, formatContent, transfer } from "./backup-command.ts";

export const command: Command = {
  usage: "backup FILE [options]",
  options: {
    ...backupOptions,
    force: flag("Replace FILE if it exists"),
    "with-secrets-key": flag("Include the secrets key"),
  },
  positionals: { min: 1, max: 1 },
  examples: ["backup nightly.tar.gz", "backup --data-dir /var/lib/portside --force nightly.tar.gz"],
  notes: [
    "The server may run during the backup. FILE has mode 0600 and appears only when the backup is complete.",
    "FILE contains the services' environment variables and the content of volumes. Treat it as a secret.",
    "FILE contains the secrets in encrypted form. It contains their key (secrets.key in the data folder) only with",
    "--with-secrets-key. Otherwise, back up the key separately.",
  ],
  run: async (input, io) => {
    const result = await transfer(input, io, backUp);
    const { file, bytes, deployments, volumes, objects, leftOut } = result;
    for (const { reason, count, example } of leftOut)
      warn(io, safeText(io, `${pluralize(count, "path")} not copied (${reason}), such as '${example}'.`, io.stderr));
    const answer = { file, bytes, deployments, volumes, objects, left_out: leftOut };
    const done = paint(io, "green", "Backed up");
    const text = `${done} ${formatContent(result)} to ${safeText(io, file)} (${formatSize(bytes)}).`;
    return printResult(input, io, answer, text);
  },
};
