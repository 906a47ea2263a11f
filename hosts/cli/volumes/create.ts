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
    const init = { json: { name }, signal: io.signal };
    const volume = await clientFor(input, io).call<{ name: string; created: boolean }>("/v1/volume/create", init);
    const text = volume.created
      ? `Created the volume '${volume.name}'.`
      : `The volume '${volume.name}' already exists.`;
    return printResult(input, io, volume, text);
  },
};
