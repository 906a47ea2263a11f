/** `portside list` */
import type { Deployment } from "../../../core/domain/deploy/deployment.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printList } from "../command.ts";
import { formatLastFire, formatNextFire } from "../schedules/fires.ts";
import { paint } from "../terminal/colour.ts";
import { ago } from "../terminal/table.ts";

const HEAD = ["NAME", "STATUS", "URL", "REVISION", "SIZE", "UPDATED"];
const colours = { READY: "green", BUILDING: "yellow", DEPLOYING: "yellow", FAILED: "red" } as const;

/** A deployment has no URL during its first build. */
const shownStatus = ({ status, url }: Deployment) => (url === "" ? "BUILDING" : status);

export const command: Command = {
  usage: "list [--json]",
  options: clientOptions,
  examples: ["list"],
  run: async (input, io) => {
    const deployments = await clientFor(input, io).listDeployments();
    const anyScheduled = deployments.some(({ schedule }) => schedule !== null);
    return printList(input, io, deployments, {
      head: [...HEAD, ...(anyScheduled ? ["NEXT RUN", "LAST RUN"] : [])],
      row: (deployment) => {
        const { name, url, revision, cpu, memory, updated_at, schedule, cron } = deployment;
        const status = shownStatus(deployment);
        return [
          name,
          paint(io, colours[status], status),
          url || "-",
          revision ?? "-",
          `${cpu} × ${memory}`,
          ago(updated_at),
          ...(anyScheduled ? [formatNextFire(schedule), formatLastFire(io, { cron })] : []),
        ];
      },
      empty: "No deployments. Create one with 'portside init my-app' and 'portside deploy my-app'.",
    });
  },
};
