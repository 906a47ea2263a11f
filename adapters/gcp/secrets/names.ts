/** Names of secrets in Secret Manager. Pure functions. */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

/** The id of the secret that contains the HMAC key for digests of secret values. */
export const DIGEST_KEY_ID = "portside-digest-key";

/** Distinguishes names that differ only in case, even if Secret Manager ignores case. */
const nameDigest = (name: SecretName): string => createHash("sha256").update(name).digest("hex").slice(0, 8);

/**
 * "A secret ID is a string with a maximum length of 255 characters and can contain uppercase and lowercase letters,
 * numerals, and the hyphen (`-`) and underscore (`_`) characters": google/cloud/secretmanager/v1/service.proto.
 */
export const secretIdOf = (owner: AccountId, name: SecretName): string =>
  `portside-${accountDigest(owner)}-${name}-${nameDigest(name)}`;

/** Returns the name of an account's secret, or undefined for other secrets. */
export const secretNameOf = (owner: AccountId, id: string): SecretName | undefined => {
  const [, name] = /^portside-[0-9a-f]{32}-(.+)-[0-9a-f]{8}$/.exec(id) ?? [];
  return name !== undefined && secretIdOf(owner, name as SecretName) === id ? (name as SecretName) : undefined;
};
