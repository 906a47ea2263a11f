/** `portside token` */

import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult } from "../command.ts";

export const command: Command = {
  usage: "token [--json]",
  options: clientOptions,
  examples: ["token"],
  run: async (input, io) => {
    const token = await clientFor(input, io).issueToken();
    return printResult(input, io, token, token.access_token);
  },
};
