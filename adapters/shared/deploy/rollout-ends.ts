/** Final events of failed rollouts, for every provider. */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { RolloutEvent } from "../../../core/ports/service-platform.ts";

export const failed = (failure: DeployFailure): RolloutEvent => ({ kind: "failed", failure });

export const INTERRUPTED: DeployFailure = { reason: "interrupted", message: "The rollout was cancelled." };

/** The failure for unexpected exceptions. The server's log contains the cause. */
export const OWN_BUG: DeployFailure = {
  reason: "internal",
  message: "The platform could not roll out the revision. The operator can find the reason in the server's log.",
};
