/** `portside open NAME` */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { warn } from "../terminal/colour.ts";
import { CommandError, type Io, print, printJson } from "../terminal/io.ts";

/** Returns the command that opens a URL in the user's browser. */
const openerOf = (url: string): [string, ...string[]] => {
  if (process.platform === "darwin") return ["open", url];
  // Unlike `start`, this does not pass the URL through a shell.
  return process.platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler", url] : ["xdg-open", url];
};

/** Opens the URL. The command succeeds without a browser, because it has printed the URL. */
const openInBrowser = async (io: Io, url: string): Promise<void> => {
  const [file, ...args] = openerOf(url);
  const child = spawn(file, args, { env: io.env, stdio: "ignore", detached: true });
  child.unref();
  try {
    await once(child, "spawn");
  } catch {
    warn(io, `Could not run ${file}. Open the URL yourself.`);
  }
};

export const command: Command = {
  usage: "open NAME",
  options: clientOptions,
  positionals: { min: 1, max: 1 },
  examples: ["open hello"],
  notes: ["Prints the URL of the deployment. On a terminal, also opens it in the browser."],
  run: async (input, io) => {
    const [name = ""] = input.positionals;
    const { url } = await clientFor(input, io).getDeployment({ name });
    if (url === "")
      throw new CommandError(
        `'${name}' has no URL during its first build. Run 'portside status ${name}' to see the deploy.`,
      );
    if (input.flag("json")) printJson(io, { url });
    else print(io, url);
    // For other kinds of URLs, the opener may start any program.
    if (io.stdout.isTTY === true && /^https?:\/\//.test(url)) await openInBrowser(io, url);
    return 0;
  },
};
