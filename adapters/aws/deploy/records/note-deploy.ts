/** Persists the last deploy's status in a separate write, which does not change the etag that the adapter returns. */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { type DeployOutcome, isLastDeploy } from "../../../../core/domain/deploy/events.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import type { ResultAsync } from "../../../../core/result.ts";
import type { HeldRecord } from "./record.ts";
import { amend, type WriteDeps } from "./writes.ts";

export const noteDeploy = (
  deps: WriteDeps,
  { name, owner }: { readonly name: DeploymentName; readonly owner: AccountId },
  outcome: DeployOutcome,
  { signal }: CallOptions = {},
): ResultAsync<void, Unavailable> => {
  const lastDeploy = { ...outcome, at: timestampOf(deps.clock.now()) };
  const note = (record: HeldRecord) =>
    record.attempted.owner === owner && isLastDeploy(record.lastDeploy, outcome)
      ? { ...record, lastDeploy }
      : undefined;
  return amend(deps, name, note, { signal }).mapErr(({ message }) => unavailable(message, 5));
};
