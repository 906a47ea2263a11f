/** Persists the last deploy's status in a separate write, which does not change the port's etag. */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeployOutcome } from "../../../../core/domain/deploy/events.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import type { Result } from "../../../../core/result.ts";
import { amend, type WriteDeps } from "./writes.ts";

export const noteDeploy = async (
  deps: WriteDeps,
  { name, owner }: { readonly name: DeploymentName; readonly owner: AccountId },
  outcome: DeployOutcome,
  { signal }: CallOptions = {},
): Promise<Result<void, Unavailable>> => {
  const lastDeploy = { ...outcome, at: timestampOf(deps.clock.now()) };
  const noted = await amend(
    deps,
    name,
    (record) => (record.attempted.owner === owner ? { ...record, lastDeploy } : undefined),
    { signal },
  );
  return noted.mapErr(({ message }) => unavailable(message, 5));
};
