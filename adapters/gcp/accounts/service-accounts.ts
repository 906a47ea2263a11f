/** Builds the addresses of service accounts, and rejects those that the platform must not use. Pure functions. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

/** Google's default identities. The platform must not use them, because other parts of a project use them too. */
const defaults: readonly (readonly [RegExp, string])[] = [
  [/^\d+-compute@developer\.gserviceaccount\.com$/, "Compute Engine's default identity"],
  [/@cloudbuild\.gserviceaccount\.com$/, "Cloud Build's default identity"],
  [/@appspot\.gserviceaccount\.com$/, "App Engine's default identity"],
];

/** Returns the reason why builds must not use a service account, or undefined if they may. */
export const identityProblem = (email: string): string | undefined => {
  const found = defaults.find(([pattern]) => pattern.test(email));
  if (found !== undefined)
    return `'${email}' is ${found[1]}, which has more rights than builds need. Create a service account for this purpose.`;
  return /^[a-z][a-z0-9-]{4,28}[a-z0-9]@[a-z0-9.:-]+\.iam\.gserviceaccount\.com$/.test(email)
    ? undefined
    : `'${email}' is not a service account. Pass NAME@PROJECT.iam.gserviceaccount.com.`;
};

export const serviceAccountOf = (project: string, id: string): string => {
  // A domain-scoped project is DOMAIN:NAME, but NAME.DOMAIN in addresses.
  const [name, domain] = project.split(":").reverse();
  return `${id}@${domain === undefined ? project : `${name}.${domain}`}.iam.gserviceaccount.com`;
};

/** The digits after `portside-`: a service account ID has at most 30 characters. */
const ID_DIGITS = 21;
const RUNTIME = new RegExp(`^portside-[0-9a-f]{${ID_DIGITS}}@`);

/** Returns the service account that the account's services run as. */
export const runtimeIdentityOf = (project: string, owner: AccountId): string =>
  serviceAccountOf(project, `portside-${accountDigest(owner).slice(0, ID_DIGITS)}`);

/** True for the addresses that `runtimeIdentityOf` returns. */
export const isRuntimeIdentity = (email: string): boolean => RUNTIME.test(email);
