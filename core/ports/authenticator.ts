/** Ports for authentication, API keys and tokens. */
import type { AccountId, Principal } from "../domain/accounts/account.ts";
import type { Instant, Timestamp } from "../domain/wire/instant.ts";
import type { NotFound, Unauthenticated, Unavailable, Unsupported } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

export type Credential =
  | { readonly kind: "api_key"; readonly value: string }
  | { readonly kind: "bearer"; readonly value: string };

export interface Authenticator {
  /**
   * Returns the principal of a credential.
   *
   * Fails with `unauthenticated` if the credential is malformed, unknown, revoked, expired or not yet valid. The message
   * must not distinguish the first three and must not repeat the credential. The principal of an API key or of an issued
   * token has a `credentialKind`. After a key is revoked, every replica must refuse the tokens issued with it within 10 s.
   */
  authenticate(credential: Credential, options?: CallOptions): ResultAsync<Principal, Unauthenticated | Unavailable>;
}

/** An API key without its secret, which only `create` returns. */
export interface ApiKey {
  readonly id: string;
  readonly account: AccountId;
  readonly label: string;
  /** The first characters of the secret, so that people can recognise the key. */
  readonly prefix: string;
  readonly createdAt: Timestamp;
  readonly lastUsedAt: Timestamp | null;
}

export interface ApiKeys {
  /** Creates a key: `psk_` and 40 base62 characters. The key must authenticate as soon as the call succeeds. */
  create(
    account: AccountId,
    label: string,
    options?: CallOptions,
  ): ResultAsync<ApiKey & { readonly key: string }, Unavailable>;
  /** Returns the account's keys, oldest first, without revoked ones. */
  list(account: AccountId, options?: CallOptions): ResultAsync<readonly ApiKey[], Unavailable>;
  /** Revokes a key, which must then be refused. Fails with `not_found` if the account has no such key. */
  revoke(account: AccountId, id: string, options?: CallOptions): ResultAsync<void, NotFound | Unavailable>;
}

export interface TokenIssuer {
  /** Issues a bearer token for the principal's account. Fails with `unsupported` if another system issues the tokens. */
  issue(
    principal: Principal,
    options?: CallOptions,
  ): ResultAsync<{ readonly token: string; readonly expiresAt: Instant }, Unsupported | Unavailable>;
}
