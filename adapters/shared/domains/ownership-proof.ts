/** The value of the TXT record that proves the ownership of a domain. */
import { createHmac } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";

/** The identity of an installation. */
export interface Installation {
  readonly id: string;
  /** A secret that makes proofs unforgeable. A new key invalidates all proofs. */
  readonly key: string | Uint8Array;
}

/**
 * The proof depends on the installation, the account and the domain, so a DNS record proves ownership only for one
 * combination of them.
 */
export const ownershipProof = ({ id, key }: Installation, account: AccountId, domain: DomainName): string =>
  `portside-verification=${createHmac("sha256", key)
    .update(JSON.stringify(["domain", id, account, domain]))
    .digest("base64url")}`;
