/**
 * Makes services public: everyone may call their URLs, and the services authorize requests themselves.
 * https://docs.cloud.google.com/run/docs/authenticating/public
 */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { isCallState } from "../../cloud/calls/provider-call.ts";
import { codeOf, grpcCodes } from "../call-policy.ts";
import { failureOfUnavailable } from "../failures.ts";
import type { RetryOptions, RunServices } from "./services.ts";

const ROLE = "roles/run.invoker";
const ALL_USERS = "allUsers";
const TRIES = 8;

/**
 * The failure if a policy forbids external principals, which include `allUsers`:
 * https://cloud.google.com/resource-manager/docs/organization-policy/domain-restricted-sharing
 */
const forbidden: DeployFailure = {
  reason: "permission",
  message:
    "The organization's policies run.managed.requireInvokerIam and iam.allowedPolicyMemberDomains forbid public services. Ask the organization's administrator to exempt this project from one of them.",
};

/**
 * Returns true if the service is public, and a failure if it cannot become public. Returns false if the policy may have
 * changed concurrently; the caller must then try again.
 */
const tryOnce = async (
  services: RunServices,
  name: DeploymentName,
  retry: RetryOptions,
): Promise<DeployFailure | boolean> => {
  const read = await services.getIamPolicy(name, retry);
  if (read.isErr())
    return isCallState(read.error)
      ? { reason: "deleted", message: "The deployment was deleted during the deploy. Deploy again to create it." }
      : failureOfUnavailable(read.error);
  const { bindings, ...policy } = read.value;
  if (bindings?.some(({ role, members }) => role === ROLE && members?.includes(ALL_USERS))) return true;
  // The policy contains its etag, so this write cannot undo a concurrent change.
  const next = { ...policy, bindings: [...(bindings ?? []), { role: ROLE, members: [ALL_USERS] }] };
  const written = await services.setIamPolicy(name, next, retry);
  if (written.isOk()) return true;
  if (!isCallState(written.error)) return failureOfUnavailable(written.error);
  return codeOf(written.error.error) === grpcCodes.FAILED_PRECONDITION ? forbidden : false;
};

/** Makes a service public. Returns the failure, or undefined on success. */
export const allowPublicAccess = async (
  services: RunServices,
  name: DeploymentName,
  retry: RetryOptions,
): Promise<DeployFailure | undefined> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const result = await tryOnce(services, name, retry);
    if (result !== false) return result === true ? undefined : result;
  }
  return { reason: "provider_unavailable", message: "The service's IAM policy keeps changing. Deploy again." };
};
