/** Maps an outage, or a refused call, to a deploy failure by its error code. */
import type { DeployFailure } from "../../core/domain/deploy/reason.ts";
import type { Unavailable } from "../../core/errors.ts";
import { codeOf } from "./call-policy.ts";
import { googleFault } from "./errors.ts";

/** gRPC's RESOURCE_EXHAUSTED and HTTP's 429. */
const EXHAUSTED = [8, 429];

export const failureOfUnavailable = ({ cause, message }: Unavailable): DeployFailure => {
  if (EXHAUSTED.includes(codeOf(cause) ?? 0))
    return { reason: "quota_exceeded", message: "The platform's Google Cloud quota is exhausted. Deploy again later." };
  if (googleFault(cause)?.kind === "refused")
    return {
      reason: "permission",
      message: "Google Cloud denied the platform permission. The operator finds the reason in the server's log.",
    };
  return { reason: "provider_unavailable", message };
};
