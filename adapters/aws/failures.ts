/**
 * Maps a failed call to AWS to the failure of the deploy that made the call. `errors.ts` turns AWS errors into
 * Portside's error kinds.
 */
import type { DeployFailure } from "../../core/domain/deploy/reason.ts";
import type { Unavailable } from "../../core/errors.ts";
import type { ResultAsync } from "../../core/result.ts";
import { awsFault, isThrottled } from "./errors.ts";

/** The result of a step of a deploy. */
export type Step<T> = ResultAsync<T, DeployFailure>;

export const failureOfUnavailable = ({ cause, message }: Unavailable): DeployFailure => {
  if (isThrottled(cause))
    return {
      reason: "quota_exceeded",
      message: "AWS is throttling the platform's calls. Deploy again later.",
    };
  if (awsFault(cause)?.kind === "refused")
    return {
      reason: "permission",
      message: "AWS denied the platform permission. The operator can find the reason in the server's log.",
    };
  return { reason: "provider_unavailable", message };
};
