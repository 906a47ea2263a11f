/**
 * The right of an account's services to the account's buckets, and to no other: a binding in the policy of each bucket.
 * https://cloud.google.com/storage/docs/access-control/iam-roles
 */
import type { Policy } from "@google-cloud/storage";
import { unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, ok } from "../../../core/result.ts";
import type { Answer, StorageApi } from "./api.ts";

const ROLE = "roles/storage.objectAdmin";

/** Conditions need the newest form: https://cloud.google.com/iam/docs/policies#versions */
const VERSION = 3;

/** A service account that was just made may be unknown to policies for so long: https://cloud.google.com/iam/docs/access-change-propagation */
const PROPAGATION_MS = 60_000;
const PAUSE_MS = 2000;
const TRIES = 40;

const hasRole = ({ bindings = [] }: Policy, member: string): boolean =>
  bindings.some(({ role, members, condition }) => role === ROLE && condition === undefined && members.includes(member));

const withRole = (policy: Policy, member: string): Policy => ({
  ...policy,
  version: VERSION,
  bindings: [...(policy.bindings ?? []), { role: ROLE, members: [member] }],
});

/**
 * Gives a service account the objects of a bucket; nothing is written where it has them.
 *
 * @param email the service account
 * @returns `not_found` where there is no such bucket
 */
export const grantObjects = async (
  api: StorageApi,
  clock: Clock,
  bucket: string,
  email: string,
  options: CallOptions,
): Answer<undefined | "not_found"> => {
  const member = `serviceAccount:${email}`;
  for (let waited = 0, tries = 0; waited <= PROPAGATION_MS && tries < TRIES; tries++) {
    const policy = await api.policy(bucket, options);
    if (policy.isErr()) return err(policy.error);
    if (policy.value === "not_found") return ok("not_found");
    if (hasRole(policy.value, member)) return ok(undefined);
    const set = await api.setPolicy(bucket, withRole(policy.value, member), options);
    if (set.isErr()) return err(set.error);
    if (set.value === "not_found") return ok("not_found");
    if (typeof set.value !== "string") return ok(undefined);
    if (options.signal?.aborted === true) break;
    // Somebody else has changed the policy: it is read again.
    if (set.value !== "invalid") continue;
    waited += PAUSE_MS;
    await clock.sleep(PAUSE_MS, options.signal);
  }
  return err(unavailable("The rights of the account's services could not be set in time.", 30));
};
