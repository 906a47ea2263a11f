/** `portside cancel DEPLOY_ID` */
import { clientFor } from "../../client.ts";
import { type Command, clientOptions, printResult } from "../../command.ts";

export const command: Command = {
  usage: "cancel DEPLOY_ID",
  options: clientOptions,
  positionals: { min: 1, max: 1 },
  examples: ["cancel k3zq0b9fw2m7c1t8x5ya"],
  notes: ["A deploy whose traffic has moved can no longer be cancelled. 'portside deploys' lists the IDs."],
  run: async (input, io) => {
    const answer = await clientFor(input, io).cancelDeploy({ deploy_id: input.positionals[0] ?? "" });
    return printResult(input, io, answer, answer.detail);
  },
};
