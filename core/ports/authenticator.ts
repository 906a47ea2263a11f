/** Credentials: who a caller is, and how accounts manage their keys and tokens. */
import type { AccountId, Principal } from "../domain/account.ts";
import type { Instant, Timestamp } from "../domain/instant.ts";
import type { NotFound, Unauthenticated, Unavailable, Unsupported } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

export type Credential =
  | { readonly kind: "api_key"; readonly value: string }
  | { readonly kind: "bearer"; readonly value: string };

export interface Authenticator {
  /**
   * The principal that a credential stands for. `unauthenticated`: it is malformed, unknown, revoked, expired or not
   * yet valid; the message does not tell which of the first three, and never repeats the credential. Keys and issued tokens
   * set `credentialKind`. A token that a key's principal had issued is refused within 10 seconds of the key's revocation, on
   * every replica.
   */
  authenticate(credential: Credential, options?: CallOptions): ResultAsync<Principal, Unauthenticated | Unavailable>;
}

/** A key as it is listed; the secret is shown once, when it is made. */
export interface ApiKey {
  readonly id: string;
  readonly account: AccountId;
  readonly label: string;
  /** The first characters, to recognise it by. */
  readonly prefix: string;
  readonly createdAt: Timestamp;
  readonly lastUsedAt: Timestamp | null;
}

export interface ApiKeys {
  /** Makes a key: `psk_` and 40 base62 characters. It authenticates as soon as the result is ok. */
  create(
    account: AccountId,
    label: string,
    options?: CallOptions,
  ): ResultAsync<ApiKey & { readonly key: string }, Unavailable>;
  /** The account's keys that are not revoked, oldest first. */
  list(account: AccountId, options?: CallOptions): ResultAsync<readonly ApiKey[], Unavailable>;
  /** `not_found`: the account has no such key. Afterwards the key is refused. */
  revoke(account: AccountId, id: string, options?: CallOptions): ResultAsync<void, NotFound | Unavailable>;
}

export interface TokenIssuer {
  /** A bearer token of the platform's own for the principal's account. `unsupported`: tokens come from elsewhere. */
  issue(
    principal: Principal,
    options?: CallOptions,
  ): ResultAsync<{ readonly token: string; readonly expiresAt: Instant }, Unsupported | Unavailable>;
}
