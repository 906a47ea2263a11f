/** A deploy's plan as lines. */
import type { PlanAnswer } from "../../core/control-plane.ts";
import { nextFiresWords } from "./fires.ts";

const SCHEDULED = "Scheduled: ";

/** What is known of a schedule besides its expression: when it fires next, and how long a run may take. */
const fireLines = ({ cron, timezone, max_seconds }: PlanAnswer["schedule"]): string[] => {
  if (cron === null || timezone === null) return [];
  const next = nextFiresWords({ cron, timezone });
  return [...(next === undefined ? [] : [`Next: ${next}`]), `A run may take at most ${max_seconds} s`];
};

export const planLines = ({ summary, schedule }: PlanAnswer): string[] =>
  summary.flatMap((line) => (line.startsWith(SCHEDULED) ? [line, ...fireLines(schedule)] : [line]));
