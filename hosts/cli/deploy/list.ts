/** `portside list` */
import type { Deployment } from "../../../core/domain/deploy/deployment.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { formatLastFire, formatNextFire } from "../schedules/fires.ts";
import { paint } from "../terminal/colour.ts";
import { printJson, say } from "../terminal/io.ts";
import { ago, printTable } from "../terminal/table.ts";

const colours = { READY: "green", BUILDING: "yellow", DEPLOYING: "yellow", FAILED: "red" } as const;

/** A deployment has no URL until its first build ends. */
const shownStatus = ({ status, url }: Deployment) => (url === "" ? "BUILDING" : status);

export const list: Command = {
  usage: "list [--json]",
  options: clientOptions,
  positionals: { min: 0, max: 0 },
  examples: ["list"],
  run: async (input, io) => {
    const client = clientFor(input, io);
    const deployments = await client.call<Deployment[]>("/v1/deployment/list");
    if (input.flag("json")) {
      printJson(io, deployments);
      return 0;
    }
    if (deployments.length === 0) {
      say(io, "No deployments. Create one with 'portside init my-app' and 'portside deploy my-app'.");
      return 0;
    }
    const anyScheduled = deployments.some(({ schedule }) => schedule !== null);
    const rows = deployments.map((deployment) => {
      const { name, url, revision, cpu, memory, updated_at, schedule, cron } = deployment;
      const status = shownStatus(deployment);
      return [
        name,
        paint(io, colours[status], status),
        url === "" ? "-" : url,
        revision ?? "-",
        `${cpu} × ${memory}`,
        ago(updated_at),
        ...(anyScheduled ? [formatNextFire(schedule), formatLastFire(io, { cron })] : []),
      ];
    });
    const head = [
      "NAME",
      "STATUS",
      "URL",
      "REVISION",
      "SIZE",
      "UPDATED",
      ...(anyScheduled ? ["NEXT FIRE", "LAST FIRE"] : []),
    ];
    await printTable(io, head, rows);
    return 0;
  },
};
