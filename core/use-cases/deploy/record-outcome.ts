/** Persists the status of a deploy in the service's `lastDeploy` and in the deployment's log. */
import type { DeployOutcome, DeployUpdate } from "../../domain/deploy/events.ts";
import { isFinal } from "../../domain/deploy/outcome.ts";
import { deployEntry } from "../../domain/logs/entry.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import type { RunContext } from "./phase.ts";

/**
 * Persists the current status of a deploy.
 *
 * The process may be killed between the two writes. Therefore, a final status goes to the log first, and any other
 * status to `lastDeploy` first. If the log then lacks the final status, `lastDeploy` is still unfinished, and the next
 * server writes the missing entry.
 */
export const recordStatus = async ({ ports, run }: RunContext, update: DeployUpdate): Promise<void> => {
  const { provider, logger, clock } = ports;
  const { status, reason } = update;
  const finishedAt = isFinal(status) ? timestampOf(clock.now()) : null;
  const outcome: DeployOutcome = { deployId: run.deployId, status, reason: reason ?? null, finishedAt };
  const note = async () => {
    const noted = await provider.services.noteDeploy({ name: run.name, owner: run.owner }, outcome);
    if (noted.isErr()) logger.warn("the status of a deploy was not stored", { deployId: run.deployId });
  };
  const log = async () => {
    const logged = await provider.logs.append([deployEntry(run.owner, run.name, run.deployId, update)]);
    if (logged.isErr()) logger.warn("the status of a deploy was not logged", { deployId: run.deployId });
  };
  for (const write of isFinal(status) ? [log, note] : [note, log]) await write();
};

/**
 * Persists the outcome and then streams it, so that a client that has received the last record finds the outcome in the
 * list.
 */
export const recordOutcome = async (deploy: RunContext, update: DeployUpdate): Promise<void> => {
  await recordStatus(deploy, update);
  deploy.run.emit(update);
};
