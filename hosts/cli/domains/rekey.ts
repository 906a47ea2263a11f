/** `portside domain rekey` */
import { rekeyAccounts } from "../../composition/domains.ts";
import { flag } from "../arguments.ts";
import { type Command, jsonOption, yesOption } from "../command.ts";
import { dataFolderOptions, settingsFrom } from "../settings.ts";
import { cannotStart, confirm, print, printJson, say } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";

export const command: Command = {
  usage: "domain rekey [options]",
  options: {
    ...jsonOption,
    ...yesOption,
    ...dataFolderOptions("secrets-key-file", "acme-ca"),
    discard: flag("Remove the accounts, so that the server registers new ones; use this if an authority rejects a key"),
  },
  positionals: { min: 1, max: 1 },
  examples: ["domain rekey --data-dir /var/lib/portside"],
  notes: [
    "First stop the server that uses the data folder. Certificates stay valid.",
    "Exits with 1 if a key was not replaced. In that case, run the command again.",
    "A backup from before a replacement contains the previous keys, which the authorities reject.",
  ],
  run: async (input, io) => {
    const discard = input.flag("discard");
    if (discard) await confirm(io, "Remove all accounts at certificate authorities?", input.flag("yes"));
    const accounts = await rekeyAccounts(settingsFrom(input, io), discard, io.signal).catch(cannotStart);
    if (input.flag("json")) printJson(io, accounts);
    else if (accounts.length === 0) say(io, "The data folder has no accounts at certificate authorities.");
    for (const { directory, problem } of input.flag("json") ? [] : accounts) {
      const done = discard ? "Removed the account" : "Replaced the key of the account";
      const failed = `The key of the account at ${directory} was not replaced. ${problem}`;
      print(io, safeText(io, problem === null ? `${done} at ${directory}.` : failed));
    }
    return accounts.some(({ problem }) => problem !== null) ? 1 : 0;
  },
};
