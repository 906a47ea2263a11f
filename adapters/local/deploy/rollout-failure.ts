import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { OWN_BUG } from "../../shared/deploy/rollout-ends.ts";
import { describeDiskFault, diskFaultOf } from "../../shared/runtime/disk-fault.ts";
import { NoUserLeft } from "../sandbox/users/account-users.ts";

/** Returns the failure to report for an error during a rollout. The error itself is in the operator's log. */
export const rolloutFailureOf = (error: unknown): DeployFailure => {
  if (error instanceof NoUserLeft) return error.failure;
  const fault = diskFaultOf(error);
  if (fault === undefined) return OWN_BUG;
  const message = describeDiskFault(fault, "the revision gets no traffic", "Deploy again");
  return { reason: "provider_unavailable", message };
};
