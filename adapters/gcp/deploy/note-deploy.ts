/**
 * Persists the last deploy's status. Cloud Run allows few writes, so the two writes of a rollout also store the status.
 * A separate write follows only if those two did not store how the deploy ended. The separate write does not change the
 * port's etag. This process keeps the status of a running deploy in memory.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type DeployOutcome, isLastDeploy } from "../../../core/domain/deploy/events.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, okAsync, type ResultAsync, safeTry } from "../../../core/result.ts";
import { isCallState } from "../../cloud/calls/provider-call.ts";
import type { DeployNote } from "../../cloud/deploy/deploy-note.ts";
import { renderNote } from "./record.ts";
import { cloudRunBusy, readState, type WriteDeps } from "./writes.ts";

/** Limits the retries. An attempt fails if another call writes the service concurrently. */
const TRIES = 20;

/** True if the stored status records the same end. The times may differ by a few seconds. `DONE` has no reason. */
const says = (stored: DeployNote | null, { deployId, reason }: DeployOutcome): boolean =>
  stored !== null && stored.finishedAt !== null && stored.deployId === deployId && stored.reason === reason;

/**
 * Returns the newer of two statuses: the one in the memory of this process, and the one that Cloud Run stores.
 */
const newest = (running: DeployNote | undefined, stored: DeployNote | null): DeployNote | null =>
  running !== undefined && (stored === null || stored.at < running.at) ? running : stored;

export const noteDeploy = (
  deps: WriteDeps,
  { name, owner }: { readonly name: DeploymentName; readonly owner: AccountId },
  outcome: DeployOutcome,
  options: CallOptions = {},
): ResultAsync<void, Unavailable> => {
  const note = { ...outcome, at: timestampOf(deps.clock.now()) };
  if (outcome.finishedAt === null) {
    deps.running.set(name, { owner, note });
    return okAsync(undefined);
  }
  const forget = () => {
    if (deps.running.get(name)?.note.deployId === outcome.deployId) deps.running.delete(name);
  };
  return safeTry(async function* () {
    let last: unknown;
    for (let tries = 0; tries < TRIES; tries++) {
      const { run, own } = yield* readState(deps, name, options);
      if (own?.service.owner !== owner || says(own.record.lastDeploy, outcome)) return ok(undefined);
      if (!isLastDeploy(newest(deps.running.get(name)?.note, own.record.lastDeploy), outcome)) return ok(undefined);
      const service = { annotations: { ...run?.annotations, ...renderNote(note) }, etag: own.runEtag };
      const written = await deps.services.update(name, service, ["annotations"], options);
      if (written.isOk()) return ok(undefined);
      if (!isCallState(written.error)) return err(written.error);
      last = written.error.error;
    }
    return err(cloudRunBusy(last));
  })
    .andTee(forget)
    .orTee(forget);
};
