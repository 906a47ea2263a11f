/** `portside volume delete NAME` */
import { trashDays } from "../../../core/domain/accounts/limits.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult, yesOption } from "../command.ts";
import { confirm } from "../terminal/io.ts";

export const command: Command = {
  usage: "volume delete NAME [-y]",
  options: { ...clientOptions, ...yesOption },
  positionals: { min: 2, max: 2 },
  examples: ["volume delete shop-data"],
  notes: [`A deleted volume can be restored for ${trashDays} days. A mounted volume cannot be deleted.`],
  run: async (input, io) => {
    const [, name = ""] = input.positionals;
    const client = clientFor(input, io);
    const question = `Delete the volume '${name}' and its content? It can be restored for ${trashDays} days.`;
    await confirm(io, question, input.flag("yes"));
    const answer = await client.deleteVolume({ name }, { signal: io.signal });
    return printResult(input, io, answer, answer.detail);
  },
};
