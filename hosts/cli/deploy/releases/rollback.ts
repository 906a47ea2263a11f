/** `portside rollback NAME [RELEASE]` */
import type { PlanResponse } from "../../../../core/control-plane.ts";
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
    "RELEASE defaults to the release before the serving one or, after a rollback, before the restored one. A rollback",
    "restores the image, resources, variables, mounts and schedule. It does not change the data of volumes.",
  ],
  run: async (input, io) => {
    const [name = "", release = null] = input.positionals;
    const client = clientFor(input, io);
    const json = input.flag("json");
    const request = { name, release };
    if (input.flag("plan")) {
      const plan = await client.call<PlanResponse>("/v1/deployment/rollback/plan", { json: request });
      return showPlan(io, plan, json);
    }
    const body = { ...request, message: input.text("message") ?? null };
    const response = await client.expectOk("/v1/deployment/rollback", { json: body, signal: io.signal });
    return followRecords(io, client, response, json, name);
  },
};
