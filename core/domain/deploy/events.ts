/**
 * The records of a deploy's stream, and their valid order: `BUILDING+ (ERROR | DEPLOYING+ (DONE | ERROR))`. A redeploy
 * builds nothing, so its stream begins with `DEPLOYING`.
 */
import { z } from "zod";
import { type DeployFailure, type DeployReason, deployReasonSchema, isLost } from "./reason.ts";

/** The schema of a record of a deploy's stream. */
export const deployEventSchema = z
  .object({
    status: z.enum(["BUILDING", "DEPLOYING", "DONE", "ERROR"]),
    message: z
      .string()
      .meta({ description: "A sentence about the deploy's progress or outcome, or a line of build output." }),
    time: z.string().meta({ format: "date-time" }),
    deploy_id: z.string().meta({ description: "The id with which a client can follow or cancel the deploy." }),
    seq: z.int().meta({ description: "The number of the record, counted from 1 without gaps." }),
    url: z.string().optional().meta({ description: "The URL of the service. Present if the status is DONE." }),
    volume: z.string().optional().meta({ description: "The volume that the record is about." }),
    reason: deployReasonSchema
      .optional()
      .meta({ description: "Why the deploy failed. Present if the status is ERROR." }),
    exit_code: z.int().optional().meta({ description: "The exit code of the build or the service, if it exited." }),
    log_tail: z
      .array(z.string())
      .optional()
      .meta({ description: "The last lines of output of the build or the service." }),
  })
  .readonly();

/** A record of a deploy's stream. */
export type DeployEvent = z.output<typeof deployEventSchema>;

/** The status of a record. `DONE` and `ERROR` end the stream. */
export type DeployStatus = DeployEvent["status"];

/** The phase of a stream. */
export type DeployPhase = "begun" | "building" | "deploying" | "ended";

const order: Readonly<Record<DeployPhase, Partial<Record<DeployStatus, DeployPhase>>>> = {
  begun: { BUILDING: "building", DEPLOYING: "deploying" },
  building: { BUILDING: "building", DEPLOYING: "deploying", ERROR: "ended" },
  deploying: { DEPLOYING: "deploying", DONE: "ended", ERROR: "ended" },
  ended: {},
};

/** Returns the phase after a record of the given status, or undefined if such a record is not valid in `phase`. */
export const advance = (phase: DeployPhase, status: DeployStatus): DeployPhase | undefined => order[phase][status];

/** The content of a record, without its position in the stream. */
export type DeployUpdate = Omit<DeployEvent, "time" | "deploy_id" | "seq">;

export const building = (message: string): DeployUpdate => ({ status: "BUILDING", message });
export const deploying = (message: string, extra: { volume?: string } = {}): DeployUpdate => ({
  status: "DEPLOYING",
  message,
  ...extra,
});
export const done = (url: string, message: string): DeployUpdate => ({ status: "DONE", message, url });
export const failed = ({ reason, message, exitCode, logTail }: DeployFailure): DeployUpdate => ({
  status: "ERROR",
  message,
  reason,
  ...(exitCode === undefined ? {} : { exit_code: exitCode }),
  ...(logTail === undefined || logTail.length === 0 ? {} : { log_tail: [...logTail] }),
});

/** The state of a deployment's last deploy: `last_deploy` in the deployment list. */
export interface DeployOutcome {
  readonly deployId: string;
  readonly status: DeployStatus;
  readonly reason: DeployReason | null;
  /** RFC 3339; null while the deploy runs. */
  readonly finishedAt: string | null;
}

/**
 * Returns whether `next` becomes a deployment's last deploy. A deploy that lost a write conflict does not replace the
 * outcome of another deploy, because the other deploy may have won the conflict.
 */
export const isLastDeploy = (stored: Pick<DeployOutcome, "deployId"> | null, next: DeployOutcome): boolean =>
  stored === null || stored.deployId === next.deployId || !isLost(next);
