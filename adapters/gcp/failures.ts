/** Maps an outage, or a refusal of the platform's own calls, to a deploy failure by the error code. */
import type { DeployFailure } from "../../core/domain/deploy/reason.ts";
import type { Unavailable } from "../../core/errors.ts";
import { codeOf } from "./call-policy.ts";
import { googleFault } from "./errors.ts";

/** RESOURCE_EXHAUSTED; Too Many Requests. */
const EXHAUSTED = [8, 429];

export const failureOfUnavailable = ({ cause, message }: Unavailable): DeployFailure => {
  if (EXHAUSTED.includes(codeOf(cause) ?? 0))
    return { reason: "quota_exceeded", message: "The platform's quota at Google Cloud is used up; try again later." };
  if (googleFault(cause)?.kind === "refused")
    return { reason: "permission", message: "The platform may not do this at Google Cloud; its operator can see why." };
  return { reason: "provider_unavailable", message };
};
