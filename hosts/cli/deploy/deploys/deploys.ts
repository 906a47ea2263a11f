/** `portside deploys [NAME]` */
import { deployListLimits } from "../../../../core/domain/accounts/limits.ts";
import type { DeployRow } from "../../../../core/domain/deploy/deploy-list.ts";
import { option } from "../../arguments.ts";
import { clientFor } from "../../client.ts";
import { type Command, clientOptions, printList } from "../../command.ts";
import { paint, warn } from "../../terminal/colour.ts";
import { safeText } from "../../terminal/safe-text.ts";
import { ago } from "../../terminal/table.ts";
import { formatDuration } from "../../volumes/transfer/format.ts";

const colours = { BUILDING: "yellow", DEPLOYING: "yellow", DONE: "green", ERROR: "red" } as const;

const tookOf = ({ began_at: began, finished_at: finished }: DeployRow): string => {
  if (finished === null) return "running";
  return began === null ? "-" : formatDuration(Math.max(0, Date.parse(finished) - Date.parse(began)) / 1000);
};

export const command: Command = {
  usage: "deploys [NAME] [-n N] [--json]",
  options: {
    ...clientOptions,
    limit: option("N", `Show N deploys (default: ${deployListLimits.default})`, { short: "n" }),
  },
  positionals: { min: 0, max: 1 },
  examples: ["deploys", "deploys hello -n 5"],
  run: async (input, io) => {
    const [name] = input.positionals;
    // The platform validates the value.
    const limit = input.text("limit") as number | undefined;
    const { deploys, partial } = await clientFor(input, io).listDeploys({ name, limit });
    if (partial) warn(io, "The search of the logs ended early. Older deploys may be missing.");
    return printList(input, io, deploys, {
      head: ["DEPLOY", "NAME", "STATUS", "BEGAN", "TOOK", "MESSAGE"],
      row: (one) => [
        one.deploy_id,
        one.name,
        paint(io, colours[one.status], one.reason ?? one.status),
        one.began_at === null ? "-" : `${ago(one.began_at)} ago`,
        tookOf(one),
        safeText(io, one.message),
      ],
      empty: "No deploys. Start one with 'portside deploy'.",
    });
  },
};
