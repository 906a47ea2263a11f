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
    const [, name = ""] = input.positionals;
    const volume = await clientFor(input, io).createVolume({ name }, { signal: io.signal });
    const text = volume.created
      ? `Created the volume '${volume.name}'.`
      : `The volume '${volume.name}' already exists.`;
    return printResult(input, io, volume, text);
  },
};
