/** The note of how the last deploy of a service stands, as a provider keeps it beside the service. Pure. */
import { z } from "zod";
import type { DeployOutcome } from "../../core/domain/deploy-events.ts";
import { deployReasonSchema } from "../../core/domain/deploy-reason.ts";
import { type Instant, parseInstant, plusMillis, timestampOf } from "../../core/domain/instant.ts";

export const noteSchema = z.object({
  deployId: z.string(),
  status: z.enum(["BUILDING", "DEPLOYING", "DONE", "ERROR"]),
  reason: deployReasonSchema.nullable(),
  finishedAt: z.string().nullable(),
  /** When it was noted, RFC 3339. */
  at: z.string(),
});

export type DeployNote = DeployOutcome & { readonly at: string };

/** Longer than a deploy with every deadline of the contract; a note that says "running" for longer was left behind. */
const NOTE_MS = 2 * 60 * 60_000;

/** The outcome that a note tells now. */
export const outcomeOf = ({ at, ...outcome }: DeployNote, now: Instant): DeployOutcome => {
  const noted = parseInstant(at);
  if (outcome.finishedAt !== null || noted === undefined || plusMillis(noted, NOTE_MS) > now) return outcome;
  const finishedAt = timestampOf(plusMillis(noted, NOTE_MS));
  return { deployId: outcome.deployId, status: "ERROR", reason: "interrupted", finishedAt };
};
