/** Stored sessions and sign-in links of the console: hashes of their secrets, and metadata. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Session, SessionCredential } from "../../../core/domain/accounts/session.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";

export interface SessionRecord extends Session {
  /** SHA-256 of the cookie, hexadecimal. The secrets have 256 random bits, so a slow hash would add nothing. */
  readonly cookieHash: string;
  /** SHA-256 of the request token, hexadecimal. */
  readonly tokenHash: string;
}

export interface LinkRecord {
  /** SHA-256 of the link's token, hexadecimal. */
  readonly hash: string;
  readonly account: AccountId;
  readonly credential: SessionCredential;
  /** When the credential expires; null if the credential does not expire. */
  readonly credentialExpiresAt: Timestamp | null;
  readonly expiresAt: Timestamp;
}

/** Storage for sessions and links. Methods may throw; the caller converts exceptions to `unavailable`. */
export interface SessionRecords {
  insert(record: SessionRecord): Promise<void>;
  withCookie(cookieHash: string): Promise<SessionRecord | undefined>;
  /** Returns a session of the account. The lookup must use an index. */
  find(account: AccountId, id: string): Promise<SessionRecord | undefined>;
  /** Returns the account's sessions, oldest first. */
  ofAccount(account: AccountId): Promise<readonly SessionRecord[]>;
  /** Deletes a session. Returns false if the account does not have it. */
  remove(account: AccountId, id: string): Promise<boolean>;
  seen(id: string, at: Timestamp): Promise<void>;
  insertLink(record: LinkRecord): Promise<void>;
  /** Deletes and returns a link. Of several concurrent callers, only one receives the link. */
  takeLink(hash: string): Promise<LinkRecord | undefined>;
  /** Deletes the sessions and links that expire at or before `now`. */
  removeExpired(now: Timestamp): Promise<void>;
}

/** The credential of a session or link, with the column names of the SQL databases. */
interface CredentialColumns {
  readonly credential_kind: SessionCredential["kind"];
  readonly credential_id: string;
  readonly key_id: string | null;
}

interface SessionRow extends CredentialColumns {
  readonly id: string;
  readonly account: AccountId;
  readonly cookie_hash: string;
  readonly token_hash: string;
  readonly created_at: Timestamp;
  readonly expires_at: Timestamp;
  readonly last_seen_at: Timestamp | null;
}

interface LinkRow extends CredentialColumns {
  readonly hash: string;
  readonly account: AccountId;
  readonly credential_expires_at: Timestamp | null;
  readonly expires_at: Timestamp;
}

const columnsOf = ({ kind, id, keyId }: SessionCredential): CredentialColumns => ({
  credential_kind: kind,
  credential_id: id,
  key_id: keyId,
});

const credentialOf = ({ credential_kind, credential_id, key_id }: CredentialColumns): SessionCredential => ({
  kind: credential_kind,
  id: credential_id,
  keyId: key_id,
});

export const sessionRowOf = (record: SessionRecord): SessionRow => ({
  id: record.id,
  account: record.account,
  ...columnsOf(record.credential),
  cookie_hash: record.cookieHash,
  token_hash: record.tokenHash,
  created_at: record.createdAt,
  expires_at: record.expiresAt,
  last_seen_at: record.lastSeenAt,
});

export const sessionRecordOf = (row: unknown): SessionRecord => {
  const { id, account, cookie_hash, token_hash, created_at, expires_at, last_seen_at, ...columns } = row as SessionRow;
  return {
    id,
    account,
    credential: credentialOf(columns),
    cookieHash: cookie_hash,
    tokenHash: token_hash,
    createdAt: created_at,
    expiresAt: expires_at,
    lastSeenAt: last_seen_at,
  };
};

export const linkRowOf = (record: LinkRecord): LinkRow => ({
  hash: record.hash,
  account: record.account,
  ...columnsOf(record.credential),
  credential_expires_at: record.credentialExpiresAt,
  expires_at: record.expiresAt,
});

export const linkRecordOf = (row: unknown): LinkRecord => {
  const { hash, account, credential_expires_at, expires_at, ...columns } = row as LinkRow;
  return {
    hash,
    account,
    credential: credentialOf(columns),
    credentialExpiresAt: credential_expires_at,
    expiresAt: expires_at,
  };
};
