/** The port for sessions of the console. */
import type { AccountId, Principal } from "../domain/accounts/account.ts";
import type { Session, SessionCredential } from "../domain/accounts/session.ts";
import type { Instant } from "../domain/wire/instant.ts";
import type { Forbidden, NotFound, Unauthenticated, Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** The two secrets of a session. Neither authenticates a request without the other. */
export interface SessionSecrets {
  /** The value of the cookie. */
  readonly cookie: string;
  /** The value of the header `X-Portside-Console`. */
  readonly requestToken: string;
}

/** The holder of a new session or link. */
export interface SessionHolder {
  readonly account: AccountId;
  readonly credential: SessionCredential;
  /** When the credential expires; undefined if the credential does not expire. */
  readonly expiresAt: Instant | undefined;
}

export interface CreateSessionOptions extends CallOptions {
  /** The id of a session that the caller revokes after the new session has started. */
  readonly replaces?: string | undefined;
}

/**
 * Stores sessions and sign-in links. An adapter must store hashes of the secrets, never the secrets. Each secret must
 * have at least 256 random bits.
 *
 * A session ends when it expires, when it is revoked, and when its key (`credential.keyId`) is revoked. Within 10
 * seconds afterwards, every replica must reject it.
 */
export interface Sessions {
  /** Creates a link that signs its holder in once. `linkExpiry` determines when it becomes invalid. */
  createLink(
    holder: SessionHolder,
    options?: CallOptions,
  ): ResultAsync<{ readonly token: string; readonly expiresAt: Instant }, Unavailable>;
  /**
   * Returns the holder of a link. If several callers use a link concurrently, exactly one succeeds. Fails with
   * `forbidden` if the link is unknown, used or expired, or if its key is revoked. The message must be the same in all
   * these cases, and must not contain the link.
   */
  useLink(token: string, options?: CallOptions): ResultAsync<SessionHolder, Forbidden | Unavailable>;
  /**
   * Starts a session. No later call returns its secrets. `sessionExpiry` determines when it ends. The sessions that
   * `surplusSessions` returns must end.
   */
  create(
    holder: SessionHolder,
    options?: CreateSessionOptions,
  ): ResultAsync<{ readonly session: Session; readonly secrets: SessionSecrets }, Unavailable>;
  /**
   * Returns the principal of a session (`principalOfSession`). The secrets are untrusted: the caller may pass any text.
   * Fails with `unauthenticated` if the session has ended, or if the secrets are not those of one session. The message
   * must be the same in both cases, and must not contain the secrets.
   */
  authenticate(secrets: SessionSecrets, options?: CallOptions): ResultAsync<Principal, Unauthenticated | Unavailable>;
  /** Returns whether the account has the session and the session has not ended. */
  isLive(account: AccountId, id: string, options?: CallOptions): ResultAsync<boolean, Unavailable>;
  /** Returns each of the account's sessions once, oldest first. Omits sessions that have ended. */
  list(account: AccountId, options?: CallOptions): ResultAsync<readonly Session[], Unavailable>;
  /** Ends a session. Fails with `not_found` if the account has no such session, or if the session has ended. */
  revoke(account: AccountId, id: string, options?: CallOptions): ResultAsync<void, NotFound | Unavailable>;
}
