/** `portside cost [NAME]` */

import { type CostKey, costKeys } from "../../../core/domain/usage/cost.ts";
import { UsageSums } from "../../../core/domain/usage/usage-sums.ts";
import { normalizeDeploymentName } from "../../../core/domain/wire/names.ts";
import { option } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { Spinner } from "../deploy/progress.ts";
import { printJson, UsageError } from "../terminal/io.ts";
import { pluralize } from "../volumes/transfer/format.ts";
import { addUsageOf } from "./add-usage.ts";
import { readInfrastructure } from "./cost-infrastructure.ts";
import { readPeriod } from "./period.ts";
import { costJson, printCost } from "./print.ts";

const readKey = (text: string | undefined): CostKey => {
  if (text === undefined) return "deployment";
  const key = costKeys.find((one) => one === text);
  if (key === undefined)
    throw new UsageError(`-b must be ${costKeys.slice(0, -1).join(", ")} or ${costKeys.at(-1)}, not '${text}'.`);
  return key;
};

export const command: Command = {
  usage: "cost [NAME] [-s 30d [--until TIME] | -m [YYYY-MM]] [-b KEY] [--json]",
  options: {
    ...clientOptions,
    since: option("TIME", "Show costs since TIME: an age (default: 30d), a date or a date-time", {
      short: "s",
    }),
    until: option("TIME", "Show costs before TIME (default: now)"),
    month: option("[YYYY-MM]", "Choose a month in UTC (default: the current one)", { short: "m", optional: /^\d/ }),
    by: option("KEY", `Group by ${costKeys.slice(0, -1).join(", ")} or ${costKeys.at(-1)} (default: deployment)`, {
      short: "b",
      choices: costKeys,
    }),
  },
  positionals: { min: 0, max: 1 },
  examples: ["cost -m", "cost hello -s 7d -b user", "cost --since 2026-11-01 --until 2026-11-08 --by day"],
  notes: [
    "Adds up the usage lines in the services' logs, and shows the provider's charges for running the services.",
    "Without NAME, includes the usage lines of all current deployments, and all charges.",
  ],
  run: async (input, io) => {
    const now = Date.now();
    const by = readKey(input.text("by"));
    const period = readPeriod(input.text("since"), input.text("until"), input.text("month"), now);
    const client = clientFor(input, io);
    const { signal } = io;
    const deployments = await client.listDeployments({ signal });
    const { logs } = await client.capabilities({ signal });
    const [wanted] = input.positionals.map(normalizeDeploymentName);
    const names = wanted === undefined ? deployments.map(({ name }) => name) : [wanted];
    const sums = new UsageSums();
    using spinner = new Spinner(io);
    let [unreadable, lines] = [0, 0];
    for (const name of names) {
      spinner.begin(`Reading the log of ${name} (${pluralize(lines, "usage line")} so far)`);
      unreadable += await addUsageOf(client, io, name, period, by, sums, (count) => {
        lines += count;
      });
    }
    spinner.begin("Reading the cost of infrastructure");
    // Charges by day cannot be limited to one deployment.
    const chargeKey = by === "day" && wanted === undefined ? "day" : "deployment";
    const charges = await readInfrastructure(client, period, chargeKey, signal);
    const infrastructure = charges.offered
      ? { ...charges, costs: new Map([...charges.costs].filter(([name]) => wanted === undefined || name === wanted)) }
      : charges;
    spinner.end();
    const source = {
      period,
      retentionDays: logs.retention_days,
      now,
      deployments: names.map((name) => deployments.find((one) => one.name === name) ?? { name }),
    };
    const report = { source, period, by, sums, infrastructure, unreadable };
    if (input.flag("json")) printJson(io, costJson(report));
    else await printCost(io, report);
    return 0;
  },
};
