/** The status of a service's last deploy, which a provider stores with the service. Pure functions. */
import { z } from "zod";
import { abandonedAfterMs, cloudDeadlines, deployLimits } from "../../../core/domain/accounts/limits.ts";
import type { DeployOutcome } from "../../../core/domain/deploy/events.ts";
import { unreportedOutcome } from "../../../core/domain/deploy/outcome.ts";
import { deployReasonSchema } from "../../../core/domain/deploy/reason.ts";
import type { Revision } from "../../../core/domain/deploy/service-template.ts";
import { type Instant, parseInstant, plusMillis, timestampOf } from "../../../core/domain/wire/instant.ts";

export const noteSchema = z.object({
  deployId: z.string(),
  status: z.enum(["BUILDING", "DEPLOYING", "DONE", "ERROR"]),
  reason: deployReasonSchema.nullable(),
  finishedAt: z.string().nullable(),
  /** When the status was written, RFC 3339. */
  at: z.string(),
});

export type DeployNote = DeployOutcome & { readonly at: string };

export interface NotedService {
  readonly serving: readonly Revision[];
  /** The deadline of the newest rollout, RFC 3339. */
  readonly until: string;
}

const ABANDONED_MS = abandonedAfterMs({ ...deployLimits, ...cloudDeadlines });

/** Returns the time by which an unfinished deploy must have ended, or undefined if that time is in the future. */
const silentSince = (
  { at, deployId }: DeployNote,
  { serving, until }: NotedService,
  now: Instant,
): Instant | undefined => {
  const serves = unreportedOutcome(deployId, serving).status === "DONE";
  const [noted, over] = [parseInstant(at), serves ? parseInstant(until) : undefined];
  // After the rollout, a deploy only sets the schedule.
  const scheduled = over && plusMillis(over, deployLimits.scheduleDeadlineMs);
  return [scheduled, noted && plusMillis(noted, ABANDONED_MS)].find((moment) => moment !== undefined && moment <= now);
};

/** Returns the current outcome for a stored status. */
export const outcomeOf = (note: DeployNote, service: NotedService, now: Instant): DeployOutcome => {
  const { at: _, ...outcome } = note;
  const silent = outcome.finishedAt === null ? silentSince(note, service, now) : undefined;
  if (silent === undefined) return outcome;
  const end = unreportedOutcome(outcome.deployId, service.serving);
  return { deployId: outcome.deployId, ...end, finishedAt: timestampOf(silent) };
};
