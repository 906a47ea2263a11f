/** `portside open NAME` */
import { normalizeDeploymentName } from "../../../core/domain/wire/names.ts";
import type { Client } from "../../client/index.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { warn } from "../terminal/colour.ts";
import { CommandError, type Io, print, printJson } from "../terminal/io.ts";
import { openInBrowser } from "../terminal/open-in-browser.ts";

/** The command succeeds without a browser, because it has printed the URL. */
const openPrinted = async (io: Io, url: string): Promise<void> => {
  const missing = await openInBrowser(io, url);
  if (missing !== undefined) warn(io, `Could not run ${missing}. Open the URL yourself.`);
};

/** Reads the list, because a request for one deployment also measures its instances and searches its log. */
const urlOf = async (client: Client, name: string): Promise<string> => {
  const wanted = normalizeDeploymentName(name);
  const listed = (await client.listDeployments()).find((one) => one.name === wanted);
  // The list may not contain a new deployment yet. If the name belongs to another account, the API's error gives the
  // reason.
  return (listed ?? (await client.getDeployment({ name }))).url;
};

export const command: Command = {
  usage: "open NAME",
  options: clientOptions,
  positionals: { min: 1, max: 1 },
  examples: ["open hello"],
  notes: ["Prints the URL of the deployment. On a terminal, also opens it in the browser."],
  run: async (input, io) => {
    const [name = ""] = input.positionals;
    const url = await urlOf(clientFor(input, io), name);
    if (url === "")
      throw new CommandError(
        `'${name}' has no URL during its first build. Run 'portside status ${name}' to see the deploy.`,
      );
    if (input.flag("json")) printJson(io, { url });
    else print(io, url);
    // For URLs with other schemes, the opener may start any program.
    if (io.stdout.isTTY === true && /^https?:\/\//.test(url)) await openPrinted(io, url);
    return 0;
  },
};
