/** `portside upgrade` */
import { UpgradeRefused, upgradeLocalEngine } from "../../../composition/request-upgrade.ts";
import { type Command, jsonOption, printResult } from "../../command.ts";
import { dataFolderOptions, settingsFrom } from "../../settings.ts";
import { paint } from "../../terminal/colour.ts";
import { CommandError, say } from "../../terminal/io.ts";

export const command: Command = {
  usage: "upgrade [options]",
  options: {
    ...jsonOption,
    ...dataFolderOptions(),
  },
  examples: ["upgrade", "upgrade --data-dir /var/lib/portside"],
  notes: [
    "Install the new version first. Then run this command as the server's user on the server's machine.",
    "Services keep running during the upgrade. Requests to the API wait for about two seconds. Running deploys may take",
    "up to the server's --drain-seconds to finish, and are then interrupted.",
    "If the new version does not start, the running version continues.",
  ],
  run: async (input, io) => {
    const pid = await upgradeLocalEngine(settingsFrom(input, io), (message) => say(io, message)).catch(
      (error: unknown) => {
        throw error instanceof UpgradeRefused ? new CommandError(error.message, { cause: error }) : error;
      },
    );
    return printResult(input, io, { pid }, `${paint(io, "green", "Upgraded.")} The new process is ${pid}.`);
  },
};
