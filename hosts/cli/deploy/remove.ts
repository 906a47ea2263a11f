/** `portside remove NAME` */
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult, yesOption } from "../command.ts";
import { confirm } from "../terminal/io.ts";

export const command: Command = {
  usage: "remove NAME [-y]",
  options: { ...clientOptions, ...yesOption },
  positionals: { min: 1, max: 1 },
  examples: ["remove hello"],
  notes: ["Volumes remain. The log remains until its retention period ends."],
  run: async (input, io) => {
    const [name = ""] = input.positionals;
    const client = clientFor(input, io);
    await confirm(io, `Delete the deployment '${name}'?`, input.flag("yes"));
    const answer = await client.deleteDeployment({ name });
    return printResult(input, io, answer, answer.detail);
  },
};
