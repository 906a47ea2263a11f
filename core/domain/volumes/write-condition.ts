/** The rule for conditional writes: a deploy may change a service only if the service is still in the planned state. */
import type { AccountId, NameHolder } from "../accounts/account.ts";
import type { Expected } from "../deploy/plan.ts";
import type { DeployFailure } from "../deploy/reason.ts";

/** The state of the name at the time of the write. */
export type Present =
  | Exclude<NameHolder, { kind: "held" }>
  | { readonly kind: "held"; readonly owner: AccountId; readonly etag: string };

/**
 * Returns the failure of a write by `owner` if the name is not in the expected state, or undefined if the write may
 * proceed.
 */
export const writeConflict = (owner: AccountId, expected: Expected, present: Present): DeployFailure | undefined => {
  if (present.kind !== "free" && present.owner !== owner)
    return {
      reason: "name_taken",
      message: "This name belongs to another account or application. Choose another name.",
    };
  if (expected === "absent")
    return present.kind === "held"
      ? {
          reason: "superseded",
          message: "Another deploy created this deployment in the meantime. Deploy again to replace it.",
        }
      : undefined;
  if (present.kind !== "held")
    return { reason: "deleted", message: "The deployment was deleted in the meantime. Deploy again to create it." };
  return present.etag === expected.etag
    ? undefined
    : {
        reason: "superseded",
        message: "Another deploy changed this deployment in the meantime. Deploy again to replace it.",
      };
};
