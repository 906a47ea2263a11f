/** `portside console` */
import { isSafeOrigin } from "../../../core/domain/accounts/safe-origin.ts";
import { flag } from "../arguments.ts";
import { clientOf } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { type Io, print, printJson, say } from "../terminal/io.ts";
import { openInBrowser } from "../terminal/open-in-browser.ts";
import { findAccount } from "./account.ts";

/** Without a display, the opener starts and then fails, or opens a browser in the terminal. */
const hasDisplay = ({ env }: Io): boolean =>
  process.platform !== "linux" || Boolean(env["DISPLAY"]) || Boolean(env["WAYLAND_DISPLAY"]);

/**
 * Returns the sign-in link with the URL at which this machine reaches the API. The server's link may lack a path prefix
 * that a proxy removes. Returns the server's link unchanged if the console would reject a sign-in at that URL.
 */
const linkAt = (api: string, serverLink: string): string =>
  isSafeOrigin(api) ? `${api.replace(/\/+$/, "")}/console/${new URL(serverLink).hash}` : serverLink;

export const command: Command = {
  usage: "console [--no-open] [--json]",
  options: { ...clientOptions, "no-open": flag("Print the link instead of opening it") },
  examples: ["console", "console --no-open"],
  notes: [
    "Opens the console in the browser, and signs in with a link that works once and expires after a minute. Prints the",
    "link if there is no browser or no terminal.",
  ],
  run: async (input, io) => {
    const account = findAccount(io, input.text("url"));
    const { url: serverLink, expires_at } = await clientOf(account).createConsoleLink();
    const url = linkAt(account.url, serverLink);
    if (input.flag("json")) {
      printJson(io, { url, expires_at });
      return 0;
    }
    const opens = !input.flag("no-open") && io.stdout.isTTY === true && hasDisplay(io) && /^https?:\/\//.test(url);
    if (opens && (await openInBrowser(io, url)) === undefined) {
      say(io, "Opened the console in the browser. To print the link instead, run 'portside console --no-open'.");
      return 0;
    }
    print(io, url);
    say(io, "Open the link within a minute. It works once.");
    return 0;
  },
};
