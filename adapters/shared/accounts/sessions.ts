/**
 * Sessions of the console on top of any store of session records. The store contains only hashes of the secrets.
 *
 * Nothing is cached, so every replica rejects a session as soon as the session or its key is revoked.
 */
import { hash, timingSafeEqual } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import {
  linkExpiry,
  principalOfSession,
  type Session,
  sessionExpiry,
  surplusSessions,
} from "../../../core/domain/accounts/session.ts";
import { type Instant, parseInstant, plusMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import { forbidden, notFound, type Unavailable, unauthenticated } from "../../../core/errors.ts";
import type { Sessions } from "../../../core/ports/sessions.ts";
import type { Clock, Ids, Logger } from "../../../core/ports/system.ts";
import { errAsync, okAsync, ResultAsync } from "../../../core/result.ts";
import { storeUnavailable } from "../runtime/disk-fault.ts";
import type { LiveKeys } from "./api-keys.ts";
import type { SessionRecord, SessionRecords } from "./session-record.ts";

/** 43 base62 characters have 256 bits. */
const SECRET_LENGTH = 43;
/** Minimum milliseconds between two updates of a session's `lastSeenAt`. */
const SEEN_MS = 60_000;

export interface SessionDeps {
  readonly records: SessionRecords;
  readonly keys: Pick<LiveKeys, "has">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

const ENDED = unauthenticated("The session has ended. Sign in to the console again.");
const INVALID_LINK = forbidden(
  "The link is not valid: it was used, it has expired, or its key was revoked. Run 'portside console' for a new one.",
);

const digest = (secret: string): string => hash("sha256", secret, "hex");

const sameHash = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a, "hex"), Buffer.from(b, "hex"));

const stored = <T>(work: Promise<T>) =>
  ResultAsync.fromPromise(work, (cause) => storeUnavailable("The session store does not respond. Try again.", cause));

const listed = ({ cookieHash: _cookie, tokenHash: _token, ...session }: SessionRecord): Session => session;

/** Reads a timestamp that this module has written. */
const timeOf = (text: string): Instant => parseInstant(text) as Instant;

export const createSessions = ({ records, keys, clock, ids, logger }: SessionDeps): Sessions => {
  const secret = () => ids.secret(SECRET_LENGTH);

  const hasKey = ({ account, credential: { keyId } }: Pick<Session, "account" | "credential">) =>
    keyId === null ? okAsync<boolean, Unavailable>(true) : keys.has(account, keyId);

  const hasExpired = ({ expiresAt }: Session): boolean => timeOf(expiresAt) <= clock.now();

  const isLive = (session: Session): ResultAsync<boolean, Unavailable> =>
    hasExpired(session) ? okAsync(false) : hasKey(session);

  const noteUse = ({ id, lastSeenAt }: Session): void => {
    const now = clock.now();
    if (lastSeenAt !== null && plusMillis(timeOf(lastSeenAt), SEEN_MS) > now) return;
    records
      .seen(id, timestampOf(now))
      .catch((cause) => logger.warn("could not record the last use of a session", { id, cause }));
  };

  const listLive = (account: AccountId): ResultAsync<SessionRecord[], Unavailable> =>
    stored(records.ofAccount(account)).andThen((own) => {
      const isLiveByKey = new Map<string, ReturnType<typeof hasKey>>();
      /** Reads each key once. */
      const hasKeyOnce = (record: SessionRecord) => {
        const { keyId } = record.credential;
        const known = keyId === null ? undefined : isLiveByKey.get(keyId);
        const check = known ?? hasKey(record);
        if (keyId !== null) isLiveByKey.set(keyId, check);
        return check;
      };
      const checks = own
        .filter((record) => !hasExpired(record))
        .map((record) => hasKeyOnce(record).map((there) => (there ? [record] : [])));
      return ResultAsync.combine(checks).map((all) => all.flat());
    });

  const endSurplus = async ({ account, id }: SessionRecord, replaced: string | undefined): Promise<void> => {
    const surplus = surplusSessions(await records.ofAccount(account), id, replaced);
    await Promise.all(surplus.map((one) => records.remove(account, one)));
  };

  /** Runs whenever a record is added, so that expired records do not accumulate. */
  const removeExpired = () => records.removeExpired(timestampOf(clock.now()));

  return {
    createLink: ({ account, credential, expiresAt: credentialExpiry }) => {
      const token = secret();
      const expiresAt = linkExpiry(clock.now(), credentialExpiry);
      const record = {
        hash: digest(token),
        account,
        credential,
        credentialExpiresAt: credentialExpiry === undefined ? null : timestampOf(credentialExpiry),
        expiresAt: timestampOf(expiresAt),
      };
      return stored(removeExpired().then(() => records.insertLink(record))).map(() => ({ token, expiresAt }));
    },

    useLink: (token) =>
      stored(records.takeLink(digest(token))).andThen((link) => {
        if (link === undefined || timeOf(link.expiresAt) <= clock.now()) return errAsync(INVALID_LINK);
        const { account, credential, credentialExpiresAt } = link;
        const expiresAt = credentialExpiresAt === null ? undefined : timeOf(credentialExpiresAt);
        return hasKey(link).andThen((there) =>
          there ? okAsync({ account, credential, expiresAt }) : errAsync(INVALID_LINK),
        );
      }),

    create: ({ account, credential, expiresAt }, { replaces } = {}) => {
      const now = clock.now();
      const secrets = { cookie: secret(), requestToken: secret() };
      const record: SessionRecord = {
        id: ids.id(),
        account,
        credential,
        createdAt: timestampOf(now),
        expiresAt: timestampOf(sessionExpiry(now, expiresAt)),
        lastSeenAt: null,
        cookieHash: digest(secrets.cookie),
        tokenHash: digest(secrets.requestToken),
      };
      const insert = async () => {
        await removeExpired();
        await records.insert(record);
        await endSurplus(record, replaces);
      };
      return stored(insert()).map(() => ({
        session: listed(record),
        secrets,
      }));
    },

    authenticate: ({ cookie, requestToken }) =>
      stored(records.withCookie(digest(cookie))).andThen((record) => {
        if (record === undefined || !sameHash(record.tokenHash, digest(requestToken))) return errAsync(ENDED);
        return isLive(record).andThen((live) => {
          if (!live) return errAsync(ENDED);
          noteUse(record);
          return okAsync(principalOfSession(record, timeOf(record.expiresAt)));
        });
      }),

    isLive: (account, id) =>
      stored(records.find(account, id)).andThen((record) =>
        record === undefined ? okAsync<boolean, Unavailable>(false) : isLive(record),
      ),

    list: (account) => listLive(account).map((live) => live.map(listed)),

    revoke: (account, id) => {
      const missing = errAsync(notFound(`Your account has no session '${id}'. It may have ended.`));
      return stored(records.find(account, id)).andThen((record) => {
        if (record === undefined) return missing;
        return isLive(record).andThen((live) =>
          stored(records.remove(account, id)).andThen((removed) => (live && removed ? okAsync(undefined) : missing)),
        );
      });
    },
  };
};
