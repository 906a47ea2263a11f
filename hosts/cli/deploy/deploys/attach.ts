/** `portside attach DEPLOY_ID` */
import { clientFor } from "../../client.ts";
import { type Command, clientOptions } from "../../command.ts";
import { followRecords } from "../follow.ts";

export const command: Command = {
  usage: "attach DEPLOY_ID",
  options: clientOptions,
  positionals: { min: 1, max: 1 },
  examples: ["attach k3zq0b9fw2m7c1t8x5ya"],
  notes: [
    "Prints all records of a running deploy, or of one that ended recently (the server keeps them for up to an hour).",
    "'portside deploys' lists the IDs. Ctrl-C detaches, and the deploy continues.",
  ],
  run: async (input, io) => {
    const [id = ""] = input.positionals;
    const records = clientFor(input, io).followDeploy({ deploy_id: id }, { signal: io.signal });
    return followRecords(io, records, input.flag("json"));
  },
};
