/** Ports for authentication, API keys and tokens. */
import type { AccountId, Principal } from "../domain/accounts/account.ts";
import type { Instant, Timestamp } from "../domain/wire/instant.ts";
import type { NotFound, Unauthenticated, Unavailable, Unsupported } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** The credential of a request, as the client sent it. */
export type Credential =
  | { readonly kind: "api_key"; readonly value: string }
  | { readonly kind: "bearer"; readonly value: string };

/** Verifies credentials. */
export interface Authenticator {
  /**
   * Returns the principal of a credential. The credential is untrusted: the caller may pass any text.
   *
   * Fails with `unauthenticated` if the credential is malformed, unknown, revoked, expired or not yet valid. The
   * message must be the same for malformed, unknown and revoked credentials, and must not contain the credential. Fails
   * with `unavailable` if the credential cannot be checked now.
   *
   * The principal of an API key or of a token of this platform must have a `credentialKind`. Within 10 seconds after
   * `ApiKeys.revoke`, every replica must reject the tokens that were issued with the key.
   */
  authenticate(credential: Credential, options?: CallOptions): ResultAsync<Principal, Unauthenticated | Unavailable>;
}

/** An API key without its secret. Only `create` returns the secret. */
export interface ApiKey {
  readonly id: string;
  readonly account: AccountId;
  /** The description that the user gave the key. May be empty. */
  readonly label: string;
  /** The first characters of the secret, so that a user can recognize the key. */
  readonly prefix: string;
  readonly createdAt: Timestamp;
  /** When the key last authenticated a request; null if it never has. May be up to a minute too early. */
  readonly lastUsedAt: Timestamp | null;
}

/** Stores API keys. An adapter must store only a hash and the prefix of each secret, never the whole secret. */
export interface ApiKeys {
  /**
   * Creates a key and returns it with its secret: `psk_` followed by 40 base62 characters. No later call returns the
   * secret. The key must authenticate as soon as the call succeeds.
   */
  create(
    account: AccountId,
    label: string,
    options?: CallOptions,
  ): ResultAsync<ApiKey & { readonly key: string }, Unavailable>;
  /** Returns the account's keys, oldest first. Omits revoked keys. */
  list(account: AccountId, options?: CallOptions): ResultAsync<readonly ApiKey[], Unavailable>;
  /**
   * Revokes a key. Afterwards the key must not authenticate. Fails with `not_found` if the account has no key with this
   * id, or if the key is already revoked.
   */
  revoke(account: AccountId, id: string, options?: CallOptions): ResultAsync<void, NotFound | Unavailable>;
}

/** Issues short-lived bearer tokens. */
export interface TokenIssuer {
  /**
   * Issues a bearer token for the principal's account. Returns the token and its expiry time, which must be at most one
   * hour away. Fails with `unsupported` if an external issuer provides the tokens.
   */
  issue(
    principal: Principal,
    options?: CallOptions,
  ): ResultAsync<{ readonly token: string; readonly expiresAt: Instant }, Unsupported | Unavailable>;
}
