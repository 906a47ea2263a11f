/** `portside volume restore NAME` */

import { option } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult } from "../command.ts";

export const command: Command = {
  usage: "volume restore NAME [--id ID]",
  options: {
    ...clientOptions,
    id: option("ID", "Choose one of several deleted volumes of that name (default: the most recently deleted)"),
  },
  positionals: { min: 2, max: 2 },
  examples: ["volume restore shop-data"],
  notes: ["'portside volume ls --deleted' lists the volumes that can be restored."],
  run: async (input, io) => {
    const [, name = ""] = input.positionals;
    const request = { name, id: input.text("id") };
    const volume = await clientFor(input, io).restoreVolume(request, { signal: io.signal });
    return printResult(input, io, volume, `Restored the volume '${volume.name}' with its content.`);
  },
};
