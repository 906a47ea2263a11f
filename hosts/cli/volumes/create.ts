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
  notes: ["A deploy creates the volumes that it mounts."],
  run: async (input, io) => {
    const [, name] = input.positionals;
    const client = new Client(findAccount(io, input.text("url")));
    const volume = await client.call<{ name: string; created: boolean }>("/v1/volume/create", {
      json: { name },
      signal: io.signal,
    });
    if (input.flag("json")) printJson(io, volume);
    else
      print(
        io,
        volume.created ? `Created the volume '${volume.name}'.` : `The volume '${volume.name}' already exists.`,
      );
    return 0;
  },
};
