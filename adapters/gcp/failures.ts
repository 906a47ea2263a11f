/** What an outage, or a refusal of the platform's own calls, is to a deploy: by gRPC's code or HTTP's status. */
import type { DeployFailure } from "../../core/domain/deploy-reason.ts";
import type { Unavailable } from "../../core/errors.ts";
import { codeOf } from "./google.ts";

/** RESOURCE_EXHAUSTED; Too Many Requests. */
const EXHAUSTED = [8, 429];
/** PERMISSION_DENIED, UNAUTHENTICATED; Forbidden, Unauthorized. */
const REFUSED = [7, 16, 401, 403];

export const failureOfUnavailable = (error: Unavailable): DeployFailure => {
  const code = codeOf(error.cause) ?? 0;
  if (EXHAUSTED.includes(code))
    return { reason: "quota_exceeded", message: "The platform's quota at Google Cloud is used up; try again later." };
  if (REFUSED.includes(code))
    return { reason: "permission", message: "The platform may not do this at Google Cloud; its operator can see why." };
  return { reason: "provider_unavailable", message: error.message };
};
