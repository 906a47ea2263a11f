/** `portside volume create NAME` */
import { findAccount } from "../accounts/account.ts";
import { Client } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { print, printJson } from "../terminal/io.ts";

export const create: Command = {
  usage: "volume create NAME [--json]",
  options: clientOptions,
  positionals: { min: 2, max: 2 },
  examples: ["volume create shop-data"],
  notes: ["A deploy that mounts a volume makes it, too."],
  run: async (input, io) => {
    const [, name] = input.positionals;
    const client = new Client(findAccount(io, input.text("url")));
    const made = await client.call<{ name: string; created: boolean }>("/v1/volume/create", {
      json: { name },
      signal: io.signal,
    });
    if (input.flag("json")) printJson(io, made);
    else print(io, made.created ? `Created the volume '${made.name}'.` : `You have a volume '${made.name}' already.`);
    return 0;
  },
};
