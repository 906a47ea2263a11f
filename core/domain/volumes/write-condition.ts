/**
 * The rule behind every conditional write: a deploy changes only what it saw when it began.
 */
import type { AccountId, NameHolder } from "../accounts/account.ts";
import type { Expected } from "../deploy/plan.ts";
import type { DeployFailure } from "../deploy/reason.ts";

/** What stands under the name at the moment of the write. */
export type Present =
  | Exclude<NameHolder, { kind: "held" }>
  | { readonly kind: "held"; readonly owner: AccountId; readonly etag: string };

/** Why a write by `owner` that expected something else loses; undefined where it may go on. */
export const writeConflict = (owner: AccountId, expected: Expected, present: Present): DeployFailure | undefined => {
  if (present.kind !== "free" && present.owner !== owner)
    return { reason: "name_taken", message: "Another account was first with this name; choose another." };
  if (expected === "absent")
    return present.kind === "held"
      ? {
          reason: "superseded",
          message: "Another deploy created this deployment meanwhile; deploy again to replace it.",
        }
      : undefined;
  if (present.kind !== "held")
    return { reason: "deleted", message: "The deployment was deleted meanwhile; deploy again to create it." };
  return present.etag === expected.etag
    ? undefined
    : {
        reason: "superseded",
        message: "Another deploy changed this deployment meanwhile; deploy again to replace it.",
      };
};

/** Somebody else's write was first: whoever failed so is over, and changes nothing more. */
export const isLost = ({ reason }: DeployFailure): boolean =>
  reason === "superseded" || reason === "deleted" || reason === "name_taken";
