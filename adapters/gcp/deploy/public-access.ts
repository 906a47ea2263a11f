/**
 * Public invocation: anyone with the URL may call the service, which authorizes requests itself.
 * https://docs.cloud.google.com/run/docs/authenticating/public
 */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { isCallState } from "../../shared/calls/provider-call.ts";
import { callOptions, codeOf, type GoogleRuntimeDeps, googleCalls, grpcCodes } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import { failureOfUnavailable } from "../failures.ts";
import { type CloudRunLocation, serviceNameOf } from "./resource-names.ts";
import type { RetryOptions } from "./services.ts";

const ROLE = "roles/run.invoker";
const ALL_USERS = "allUsers";
const TRIES = 8;

/**
 * Google's response if a policy forbids external principals, which include `allUsers`:
 * https://cloud.google.com/resource-manager/docs/organization-policy/domain-restricted-sharing
 */
const forbidden: DeployFailure = {
  reason: "permission",
  message:
    "The organization's policy iam.allowedPolicyMemberDomains forbids public services. Ask its administrator to exempt this project.",
};

export type AllowPublicAccess = (name: DeploymentName, retry: RetryOptions) => Promise<DeployFailure | undefined>;

/** Returns a function that makes a service public. That function returns the failure, or undefined on success. */
export const allowPublicAccess = (
  location: CloudRunLocation,
  clients: ClientSource,
  runtime: GoogleRuntimeDeps,
): AllowPublicAccess => {
  const call = googleCalls(runtime);

  /** Returns a failure, true if the service is public, or false if the policy has changed concurrently. */
  const openOnce: (...args: Parameters<AllowPublicAccess>) => Promise<DeployFailure | boolean> = async (
    name,
    retry,
  ) => {
    const resource = serviceNameOf(location, name);
    const read = await call({ what: "run.services.getIamPolicy", ...retry }, async () => {
      const client = await clients("services");
      return (await client.getIamPolicy({ resource }, callOptions(retry.signal)))[0];
    });
    if (read.isErr())
      return isCallState(read.error)
        ? { reason: "deleted", message: "The deployment was deleted during the deploy." }
        : failureOfUnavailable(read.error);
    const { bindings, ...policy } = read.value;
    if (bindings?.some(({ role, members }) => role === ROLE && members?.includes(ALL_USERS))) return true;
    // The policy carries its etag, so this write cannot undo a concurrent change.
    const next = { ...policy, bindings: [...(bindings ?? []), { role: ROLE, members: [ALL_USERS] }] };
    const written = await call({ what: "run.services.setIamPolicy", ...retry }, async () => {
      const client = await clients("services");
      await client.setIamPolicy({ resource, policy: next }, callOptions(retry.signal));
    });
    if (written.isOk()) return true;
    if (!isCallState(written.error)) return failureOfUnavailable(written.error);
    return codeOf(written.error.error) === grpcCodes.FAILED_PRECONDITION ? forbidden : false;
  };

  return async (name, retry) => {
    for (let tries = 0; tries < TRIES; tries++) {
      const result = await openOnce(name, retry);
      if (result !== false) return result === true ? undefined : result;
    }
    return { reason: "provider_unavailable", message: "The service's IAM policy keeps changing. Deploy again." };
  };
};
