/** Formats a deploy's plan. */
import { join } from "node:path";
import type { PlanResponse } from "../../../core/control-plane.ts";
import { type Change, formatValue } from "../../../core/domain/deploy/plan.ts";
import { PROJECT_FILE } from "../../../core/domain/deploy/source/packing.ts";
import { formatNextFires } from "../schedules/fires.ts";

const SCHEDULED = "Scheduled: ";

/** Formats the next runs of a schedule and their time limit. */
const fireLines = ({ cron, timezone, max_seconds }: PlanResponse["schedule"]): string[] => {
  if (cron === null || timezone === null) return [];
  const next = formatNextFires({ cron, timezone });
  return [...(next === undefined ? [] : [`Next: ${next}`]), `Time limit of each scheduled call: ${max_seconds} s`];
};

export const planLines = ({ summary, schedule }: PlanResponse): string[] =>
  summary.flatMap((line) => (line.startsWith(SCHEDULED) ? [line, ...fireLines(schedule)] : [line]));

const resetLine = ({ field, from, to }: Change): string => {
  if (field !== "env") return `  ${field}: ${formatValue(from)} → ${formatValue(to)}`;
  const kept = to as readonly string[];
  return `  env: without ${(from as readonly string[]).filter((name) => !kept.includes(name)).join(", ")}`;
};

/** Explains which settings a deploy without a declaration would reset, and how to avoid it. */
export const resetLines = (name: string, folder: string, resets: readonly Change[]): string[] => {
  const declared = resets.filter(({ field }) => field !== "env");
  const file = { name, volumes: {}, ...Object.fromEntries(declared.map(({ field, from }) => [field, from])) };
  return [
    `'${folder}' has no ${PROJECT_FILE}, so this deploy would reset settings of '${name}':`,
    ...resets.map(resetLine),
    ...(declared.length === resets.length
      ? []
      : ["--env, --env-file and --secret replace the whole environment. Set every variable."]),
    ...(declared.length === 0
      ? []
      : [
          `Deploy the folder of '${name}', or pass another --name. To keep the settings, create ${join(folder, PROJECT_FILE)}:`,
          `  ${JSON.stringify(file)}`,
        ]),
  ];
};
