/** The rules for sessions of the console: who may start a session, how long a session lasts, and what it may do. */
import type { z } from "zod";
import { type Instant, plusMillis, type Timestamp } from "../wire/instant.ts";
import { type Issue, issue } from "../wire/issue.ts";
import type { sessionListSchema } from "../wire/responses.ts";
import type { AccountId, CredentialKind, Principal } from "./account.ts";
import { sessionLimits } from "./limits.ts";

/** The credential that started a session. The session has the rights of this credential. */
export interface SessionCredential {
  readonly kind: CredentialKind;
  readonly id: string;
  /** The API key whose revocation ends the session; null for tokens of another issuer. */
  readonly keyId: string | null;
}

/** A session without its secrets. */
export interface Session {
  readonly id: string;
  readonly account: AccountId;
  readonly credential: SessionCredential;
  readonly createdAt: Timestamp;
  readonly expiresAt: Timestamp;
  /** The last use, to the minute; null if the session was never used. */
  readonly lastSeenAt: Timestamp | null;
}

/**
 * Returns the credential of a session that the principal starts. Returns undefined for a user of the embedding
 * application, which signs its users in and out itself.
 */
export const sessionCredentialOf = ({
  credentialKind: kind,
  credentialId: id,
  issuedBy,
}: Principal): SessionCredential | undefined =>
  kind === undefined ? undefined : { kind, id, keyId: kind === "key" ? id : (issuedBy ?? null) };

/**
 * Returns whether the caller may create a sign-in link. A session may not, because it could extend itself indefinitely.
 */
export const mayCreateLink = (principal: Principal): boolean =>
  principal.sessionId === undefined && sessionCredentialOf(principal) !== undefined;

const earlier = (time: Instant, limit: Instant | undefined): Instant =>
  limit !== undefined && limit < time ? limit : time;

/** Returns the end of a session that starts now: after 12 hours, or earlier if its credential expires earlier. */
export const sessionExpiry = (now: Instant, credentialExpiry: Instant | undefined): Instant =>
  earlier(plusMillis(now, sessionLimits.lifeMs), credentialExpiry);

/**
 * Returns the ids of the sessions, oldest first, that must end to keep an account within `sessionLimits.perAccount`
 * after it starts a new session. Ignores the session that the new one replaces, because that one ends anyway.
 *
 * @param sessions the account's sessions including the new one, oldest first
 */
export const surplusSessions = (
  sessions: readonly Pick<Session, "id">[],
  created: string,
  replaced: string | undefined,
): readonly string[] => {
  const others = sessions.map(({ id }) => id).filter((id) => id !== created && id !== replaced);
  return others.slice(0, Math.max(0, others.length + 1 - sessionLimits.perAccount));
};

/** Returns the expiry time of a sign-in link that is created now. */
export const linkExpiry = (now: Instant, credentialExpiry: Instant | undefined): Instant =>
  earlier(plusMillis(now, sessionLimits.linkMs), credentialExpiry);

/** Returns the principal of a request that a session authenticates. It has the rights of the session's credential. */
export const principalOfSession = (
  { id, account, credential }: Pick<Session, "id" | "account" | "credential">,
  expiresAt: Instant,
): Principal => ({
  account,
  credentialId: credential.id,
  credentialKind: credential.kind,
  sessionId: id,
  expiresAt,
  ...(credential.kind === "platform_token" && credential.keyId !== null ? { issuedBy: credential.keyId } : {}),
});

/** A sign-in must have either a link or a key. An invalid value counts as present, because it already has an issue. */
export const signInIssues = ({ link, key }: { readonly link?: unknown; readonly key?: unknown }): readonly Issue[] => {
  const isGiven = (value: unknown) => value !== undefined && value !== null;
  if (isGiven(link) !== isGiven(key)) return [];
  return isGiven(link)
    ? [issue(["key"], "must be absent if the request has a link; send one of them", "extra_forbidden")]
    : [issue(["link"], "is required unless the request has a key", "missing")];
};

/** The response of `GET /v1/console/sessions`. */
export type SessionList = z.output<typeof sessionListSchema>;

/** @param keys the keys of the account, for the labels */
export const listedSessions = (
  sessions: readonly Session[],
  keys: readonly { readonly id: string; readonly label: string }[],
  current: string | undefined,
): SessionList => ({
  sessions: sessions.map(({ id, credential, createdAt, expiresAt, lastSeenAt }) => ({
    id,
    created_at: createdAt,
    expires_at: expiresAt,
    ...(lastSeenAt === null ? {} : { last_seen: lastSeenAt }),
    credential: {
      kind: credential.kind,
      id: credential.id,
      label: keys.find((key) => key.id === credential.id)?.label ?? "",
    },
    current: id === current,
  })),
});
