/** Maps an outage or a denied call to a deploy failure, by the exception's name. */
import type { DeployFailure } from "../../core/domain/deploy/reason.ts";
import type { Unavailable } from "../../core/errors.ts";
import { awsFault, isThrottled } from "./errors.ts";

export const failureOfUnavailable = ({ cause, message }: Unavailable): DeployFailure => {
  if (isThrottled(cause))
    return {
      reason: "quota_exceeded",
      message: "The platform's rate of calls at Amazon Web Services is used up; try again later.",
    };
  if (awsFault(cause)?.kind === "refused")
    return {
      reason: "permission",
      message: "The platform may not do this at Amazon Web Services; its operator can see why.",
    };
  return { reason: "provider_unavailable", message };
};
