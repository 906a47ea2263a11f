/** `portside remove NAME` */
import { findAccount } from "../accounts/account.ts";
import { Client } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { confirm, print, printJson } from "../terminal/io.ts";

export const remove: Command = {
  usage: "remove NAME [-y]",
  options: { ...clientOptions, yes: { type: "boolean", short: "y", description: "Skip the confirmation" } },
  positionals: { min: 1, max: 1 },
  examples: ["remove hello"],
  notes: ["Volumes and logs remain."],
  run: async (input, io) => {
    const [name] = input.positionals;
    const client = new Client(findAccount(io, input.text("url")));
    await confirm(io, `Delete the deployment '${name}'?`, input.flag("yes"));
    const answer = await client.call<{ detail: string }>("/v1/deployment/delete", { json: { name } });
    if (input.flag("json")) printJson(io, answer);
    else print(io, answer.detail);
    return 0;
  },
};
