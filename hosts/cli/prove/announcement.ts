/** Describes the resources that a run creates, those that the platform keeps afterwards, and the cost. */
import { freedNameDays, trashDays } from "../../../core/domain/accounts/limits.ts";
import type { Capabilities } from "../../../core/domain/wire/capabilities.ts";
import type { RunNames } from "./names.ts";
import { declaredSize } from "./send-deploy.ts";

/** Providers that run on the operator's own machine, or simulate services. */
const FREE: ReadonlySet<string> = new Set(["memory", "local"]);

const costOf = ({ provider, builders }: Capabilities): string[] =>
  FREE.has(provider) || !builders.node.supported
    ? ["The run costs nothing."]
    : [
        `The provider '${provider}' charges for two builds of a few minutes, a service with ${declaredSize.cpu} CPU for 10 to 40 minutes,`,
        "1 MiB of storage, a schedule, and a few log reads. At the list prices of Google Cloud and AWS, this is less than 1 USD.",
      ];

/** Returns the lines to print before the command asks for confirmation. */
export const announce = (url: string, { run, volume }: RunNames, capabilities: Capabilities): string[] => {
  const { provider, region, runs, volumes, cron, names, logs } = capabilities;
  const { cpu, memory, max_instances } = declaredSize;
  const created = [
    `the deployment '${run}' (${cpu} CPU, ${memory}, at most ${max_instances} instances) from two sources, deployed several times`,
    ...(volumes.store.supported ? [`the volume '${volume}' with about 1 MiB`] : []),
    ...(runs.supported && cron.schedules.supported ? ["a schedule that fires every minute"] : []),
  ];
  const kept = [
    ...(volumes.store.supported ? [`the volume in the trash (${trashDays} days)`] : []),
    ...(names.remembers_freed.supported ? [`the name for your account (${freedNameDays} days)`] : []),
    `the log (${logs.retention_days} days)`,
  ];
  return [
    `This run creates the following on ${url} (${provider}, ${region}), and deletes it at the end:`,
    ...created.map((one) => `  - ${one}`),
    `Afterwards, the platform keeps ${kept.join(", ")}.`,
    ...costOf(capabilities),
  ];
};
