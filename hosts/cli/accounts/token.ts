/** `portside token` */

import { Client } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { print, printJson } from "../terminal/io.ts";
import { findAccount } from "./account.ts";

export const token: Command = {
  usage: "token [--json]",
  options: clientOptions,
  positionals: { min: 0, max: 0 },
  examples: ["token"],
  run: async (input, io) => {
    const client = new Client(findAccount(io, input.text("url")));
    const made = await client.call<{ access_token: string; expires_at: string }>("/v1/token", { method: "POST" });
    if (input.flag("json")) printJson(io, made);
    else print(io, made.access_token);
    return 0;
  },
};
