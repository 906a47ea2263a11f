/** `portside rollback NAME [RELEASE]` */
import { flag } from "../../arguments.ts";
import { clientFor } from "../../client.ts";
import { type Command, clientOptions } from "../../command.ts";
import { followRecords, showPlan } from "../follow.ts";
import { messageOption } from "../project.ts";

export const command: Command = {
  usage: "rollback NAME [RELEASE] [--message TEXT] [--plan]",
  options: { ...clientOptions, message: messageOption, plan: flag("Show the changes without rolling back") },
  positionals: { min: 1, max: 2 },
  examples: ["rollback hello --plan", "rollback hello 3"],
  notes: [
    "RELEASE defaults to the release before the serving one. If the serving release is a rollback or a restart, the",
    "release that it repeated counts instead. A rollback restores the image and the whole declaration, such as resources,",
    "variables, mounts, schedule and health check. It does not change the data of volumes.",
  ],
  run: async (input, io) => {
    const [name = "", release] = input.positionals;
    const client = clientFor(input, io);
    const json = input.flag("json");
    // The platform validates the value.
    const request = { name, release: release as number | undefined };
    if (input.flag("plan")) {
      return showPlan(io, await client.planRollback(request), json);
    }
    const body = { ...request, message: input.text("message") ?? null };
    const records = await client.rollback(body, { signal: io.signal });
    return followRecords(io, records, json, name);
  },
};
