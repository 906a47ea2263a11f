/** Opens a URL in the user's browser. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Io } from "./io.ts";

/** Returns the command that opens a URL in the user's browser. */
const openerOf = (url: string): [string, ...string[]] => {
  if (process.platform === "darwin") return ["open", url];
  // Unlike `start`, this does not pass the URL through a shell.
  return process.platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler", url] : ["xdg-open", url];
};

/** Returns the name of the program that could not be started, or undefined if it runs. */
export const openInBrowser = async (io: Io, url: string): Promise<string | undefined> => {
  const [file, ...args] = openerOf(url);
  const child = spawn(file, args, { env: io.env, stdio: "ignore", detached: true });
  child.unref();
  try {
    await once(child, "spawn");
    return undefined;
  } catch {
    return file;
  }
};
