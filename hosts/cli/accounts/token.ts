/** `portside token` */

import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult } from "../command.ts";

export const command: Command = {
  usage: "token [--json]",
  options: clientOptions,
  examples: ["token"],
  run: async (input, io) => {
    const client = clientFor(input, io);
    const made = await client.call<{ access_token: string; expires_at: string }>("/v1/token", { method: "POST" });
    return printResult(input, io, made, made.access_token);
  },
};
