/**
 * Public invocation: whoever knows the address may call, and the service itself decides whom it answers (contract 4.1).
 * https://docs.cloud.google.com/run/docs/authenticating/public
 */
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import type { DeploymentName } from "../../../core/domain/names.ts";
import { isCallState } from "../../shared/provider-call.ts";
import type { ClientSource } from "../clients.ts";
import { failureOfUnavailable } from "../failures.ts";
import { callOptions, codeOf, type GoogleAmbient, googleCalls, grpcCodes } from "../google.ts";
import { type Place, serviceNameOf } from "./resource-names.ts";
import type { Patience } from "./services.ts";

const ROLE = "roles/run.invoker";
const EVERYBODY = "allUsers";
const TRIES = 8;

/**
 * What Google answers where a policy forbids principals from outside, `allUsers` among them:
 * https://cloud.google.com/resource-manager/docs/organization-policy/domain-restricted-sharing
 */
const forbidden: DeployFailure = {
  reason: "permission",
  message:
    "The organisation's policy (iam.allowedPolicyMemberDomains) forbids services that everybody may call; its administrator can exempt this project.",
};

export type OpenToAll = (name: DeploymentName, patience: Patience) => Promise<DeployFailure | undefined>;

/** Gives a way to open a service to everybody; what it answers is why it could not. */
export const openToAll = (place: Place, clients: ClientSource, ambient: GoogleAmbient): OpenToAll => {
  const call = googleCalls(ambient);

  /** A failure; or whether it is open now. */
  const once: (...args: Parameters<OpenToAll>) => Promise<DeployFailure | boolean> = async (name, patience) => {
    const resource = serviceNameOf(place, name);
    const read = await call({ what: "run.services.getIamPolicy", ...patience }, async () => {
      const client = await clients("services");
      return (await client.getIamPolicy({ resource }, callOptions(patience.signal)))[0];
    });
    if (read.isErr())
      return isCallState(read.error)
        ? { reason: "deleted", message: "The deployment was deleted meanwhile." }
        : failureOfUnavailable(read.error);
    const { bindings, ...policy } = read.value;
    if (bindings?.some(({ role, members }) => role === ROLE && members?.includes(EVERYBODY))) return true;
    // With the policy's etag: what somebody else changes in between is not undone.
    const next = { ...policy, bindings: [...(bindings ?? []), { role: ROLE, members: [EVERYBODY] }] };
    const written = await call({ what: "run.services.setIamPolicy", ...patience }, async () => {
      const client = await clients("services");
      await client.setIamPolicy({ resource, policy: next }, callOptions(patience.signal));
    });
    if (written.isOk()) return true;
    if (!isCallState(written.error)) return failureOfUnavailable(written.error);
    return codeOf(written.error.error) === grpcCodes.FAILED_PRECONDITION ? forbidden : false;
  };

  return async (name, patience) => {
    for (let tries = 0; tries < TRIES; tries++) {
      const opened = await once(name, patience);
      if (opened !== false) return opened === true ? undefined : opened;
    }
    return { reason: "provider_unavailable", message: "The service's policy keeps changing; deploy again." };
  };
};
