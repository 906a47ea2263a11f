/** Persists the last deploy's status in a separate write, which does not change the port's etag. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeployOutcome } from "../../../core/domain/deploy/events.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { isCallState } from "../../shared/calls/provider-call.ts";
import { renderNote } from "./record.ts";
import { cloudRunBusy, readState, type WriteDeps } from "./writes.ts";

/** Limits the retries: every concurrent write of the service makes this one fail. */
const TRIES = 20;

export const noteDeploy = (
  deps: WriteDeps,
  { name, owner }: { readonly name: DeploymentName; readonly owner: AccountId },
  outcome: DeployOutcome,
  options: CallOptions = {},
): ResultAsync<void, Unavailable> =>
  safeTry(async function* () {
    let last: unknown;
    for (let tries = 0; tries < TRIES; tries++) {
      const { run, own } = yield* readState(deps, name, options);
      if (own?.service.owner !== owner) return ok(undefined);
      const noted = renderNote({ ...outcome, at: timestampOf(deps.clock.now()) });
      const service = { annotations: { ...run?.annotations, ...noted }, etag: own.runEtag };
      const written = await deps.services.update(name, service, ["annotations"], options);
      if (written.isOk()) return ok(undefined);
      if (!isCallState(written.error)) return err(written.error);
      last = written.error.error;
    }
    return err(cloudRunBusy(last));
  });
