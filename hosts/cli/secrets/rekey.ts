/** `portside secret rekey` */
import { isExplained } from "../../composition/backup.ts";
import { rekey } from "../../composition/secrets.ts";
import { SettingsError } from "../../composition/settings.ts";
import { flag } from "../arguments.ts";
import { type Command, jsonOption, printResult, yesOption } from "../command.ts";
import { dataFolderOptions, settingsFrom } from "../settings.ts";
import { CommandError, confirm } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";
import { pluralize } from "../volumes/transfer/format.ts";

export const command: Command = {
  usage: "secret rekey [options]",
  options: {
    ...jsonOption,
    ...yesOption,
    ...dataFolderOptions("secrets-key-file"),
    discard: flag("Delete all secrets instead of encrypting them again; use this if the key is lost"),
  },
  positionals: { min: 1, max: 1 },
  examples: ["secret rekey --data-dir /var/lib/portside"],
  notes: [
    "Stop the server that uses the data folder first. The command replaces the key file.",
    "A backup from before the rekey still needs the previous key.",
  ],
  run: async (input, io) => {
    const discard = input.flag("discard");
    if (discard) await confirm(io, "Delete all secrets of all accounts?", input.flag("yes"));
    try {
      const { keyFile, versions, discarded } = await rekey(settingsFrom(input, io), discard);
      const done = discard
        ? `Deleted ${pluralize(discarded, "version")}`
        : `Encrypted ${pluralize(versions, "version")}`;
      const answer = { key_file: keyFile, versions, discarded };
      return printResult(input, io, answer, safeText(io, `${done}. The new key is in ${keyFile}.`));
    } catch (error) {
      if (error instanceof SettingsError || (await isExplained(error)))
        throw new CommandError((error as Error).message, { cause: error });
      throw error;
    }
  },
};
