/** `portside restart NAME` */
import { clientFor } from "../../client.ts";
import { type Command, clientOptions } from "../../command.ts";
import { followRecords } from "../follow.ts";

export const command: Command = {
  usage: "restart NAME",
  options: clientOptions,
  positionals: { min: 1, max: 1 },
  examples: ["restart hello"],
  notes: ["Redeploys the serving release without a build or downtime, as a new release."],
  run: async (input, io) => {
    const [name = ""] = input.positionals;
    const client = clientFor(input, io);
    const records = await client.restartDeployment({ name }, { signal: io.signal });
    return followRecords(io, records, input.flag("json"), name);
  },
};
