/** Digests of secrets, which show whether two versions have the same value without revealing it. */
import { createHmac } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";

/**
 * A digest also depends on the account and the name, so equal values of two secrets have different digests.
 * @param key a secret of the installation, which prevents others from guessing a value from its digest
 */
export const secretDigest = (key: string | Uint8Array, owner: AccountId, name: SecretName, value: string): string =>
  `hmac:${createHmac("sha256", key)
    .update(JSON.stringify(["secret", owner, name, value]))
    .digest("hex")
    .slice(0, 32)}`;
