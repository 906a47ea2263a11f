/** `portside volume create NAME` */
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult } from "../command.ts";

export const command: Command = {
  usage: "volume create NAME [--json]",
  options: clientOptions,
  positionals: { min: 2, max: 2 },
  examples: ["volume create shop-data"],
  notes: ["A deploy creates the volumes that it mounts."],
  run: async (input, io) => {
    const [, name] = input.positionals;
    const client = clientFor(input, io);
    const volume = await client.call<{ name: string; created: boolean }>("/v1/volume/create", {
      json: { name },
      signal: io.signal,
    });
    return printResult(
      input,
      io,
      volume,
      volume.created ? `Created the volume '${volume.name}'.` : `The volume '${volume.name}' already exists.`,
    );
  },
};
