/** Use cases for sessions of the console. */
import type { Principal } from "../../domain/accounts/account.ts";
import { sessionLimits } from "../../domain/accounts/limits.ts";
import {
  listedSessions,
  mayCreateLink,
  type Session,
  type SessionList,
  sessionCredentialOf,
  signInIssues,
} from "../../domain/accounts/session.ts";
import { parseFields, type RequestFields } from "../../domain/wire/fields.ts";
import { type Instant, millisOf, parseInstant, type Timestamp, timestampOf } from "../../domain/wire/instant.ts";
import { revokeSessionFields, signInFields } from "../../domain/wire/requests.ts";
import {
  type ControlPlaneError,
  conflict,
  forbidden,
  invalidInput,
  type Unsupported,
  unsupported,
} from "../../errors.ts";
import type { SessionHolder, SessionSecrets, Sessions } from "../../ports/sessions.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, errAsync, ok, okAsync, type Result, ResultAsync, safeTry } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import { accountUseCase, type Caller, useCase } from "../pipeline/use-case.ts";
import { whenAborted } from "../pipeline/when-aborted.ts";
import { withinDeadline } from "../pipeline/within-deadline.ts";

/** A link that signs in to the console once. */
export interface ConsoleLink {
  /** The host appends the token to the URL of the console. */
  readonly token: string;
  readonly expires_at: Timestamp;
}

/** A new session with its secrets. */
export interface SignedIn {
  readonly account: string;
  /** The value of the cookie. It must not be part of a response's body. */
  readonly cookie: string;
  readonly request_token: string;
  readonly expires_at: Timestamp;
  /** The lifetime of the session in milliseconds. */
  readonly lifeMs: number;
}

const sessionsOf = ({ ports }: Context): Result<Sessions, Unsupported> => {
  const { sessions } = ports.identity;
  return sessions === undefined
    ? err(unsupported("This platform has no console sessions. Sign in to the application that embeds the API."))
    : ok(sessions);
};

const holderOf = (principal: Principal): SessionHolder | undefined => {
  const credential = sessionCredentialOf(principal);
  return credential && { account: principal.account, credential, expiresAt: principal.expiresAt };
};

const NO_SESSION = forbidden("Only an API key or a token can create a link to the console. Send one of them.");

export const createConsoleLink = accountUseCase({
  authorize: ({ principal }) => (mayCreateLink(principal) ? ok(undefined) : err(NO_SESSION)),
  run: ({ context, principal, options }) =>
    safeTry<ConsoleLink, ControlPlaneError>(async function* () {
      const sessions = yield* sessionsOf(context);
      const holder = holderOf(principal);
      if (holder === undefined) return err(NO_SESSION);
      const { token, expiresAt } = yield* await sessions.createLink(holder, options);
      return ok({ token, expires_at: timestampOf(expiresAt) });
    }),
});

const lifeOf = ({ createdAt, expiresAt }: Session): number =>
  millisOf(parseInstant(expiresAt) as Instant) - millisOf(parseInstant(createdAt) as Instant);

/**
 * Authenticates a key. Only an invalid key counts as a failed attempt, because neither an outage nor a valid key helps
 * an attacker guess keys.
 */
const principalOfKey = (
  { ports, signIns }: Context,
  key: string,
  address: string,
  options: CallOptions,
): ResultAsync<Principal, ControlPlaneError> =>
  signIns.count(address).asyncAndThen(() =>
    ports.identity.authenticator
      .authenticate({ kind: "api_key", value: key }, options)
      .andTee(() => signIns.forgive(address))
      .orTee(({ kind }) => {
        if (kind !== "unauthenticated") signIns.forgive(address);
      }),
  );

type ReplacedSession = Pick<Session, "account" | "id">;

/** Returns the session that a new session replaces; undefined if it has already ended. */
const findReplaced = (
  sessions: Sessions,
  secrets: SessionSecrets | undefined,
  options: CallOptions,
): ResultAsync<ReplacedSession | undefined, ControlPlaneError> =>
  secrets === undefined
    ? okAsync(undefined)
    : sessions
        .authenticate(secrets, options)
        .map(({ account, sessionId: id }): ReplacedSession | undefined =>
          id === undefined ? undefined : { account, id },
        )
        .orElse((error) => (error.kind === "unavailable" ? errAsync(error) : okAsync(undefined)));

/** Ends the replaced session. If that fails, also ends the new one, so that the client keeps exactly one session. */
const endReplaced = (
  sessions: Sessions,
  created: Session,
  replaced: ReplacedSession,
  options: CallOptions,
): ResultAsync<void, ControlPlaneError> =>
  sessions.revoke(replaced.account, replaced.id, options).orElse((error) =>
    error.kind === "not_found"
      ? okAsync(undefined)
      : sessions
          .revoke(created.account, created.id, options)
          .orElse(() => okAsync(undefined))
          .andThen(() => errAsync(error)),
  );

/** The client of a sign-in. */
export interface SignInOptions extends CallOptions {
  /** The session that the new session replaces. The cookie alone is not sufficient to end it. */
  readonly replaces?: SessionSecrets | undefined;
}

/**
 * Starts a session for the holder of a link or a key.
 * @param address the client's network address, for the rate limit
 */
export const signIn = (
  context: Context,
  request: RequestFields<typeof signInFields>,
  address: string,
  { replaces, ...options }: SignInOptions = {},
): ResultAsync<SignedIn, ControlPlaneError> => {
  const work = () =>
    safeTry<SignedIn, ControlPlaneError>(async function* () {
      const parsed = parseFields(signInFields, { ...request }, () => {
        const issues = signInIssues(request);
        return issues.length === 0 ? ok({}) : err(issues);
      });
      const { link, key } = yield* parsed.mapErr(invalidInput);
      const sessions = yield* sessionsOf(context);
      const replaced = yield* await findReplaced(sessions, replaces, options);
      // A link cannot be guessed, so attempts with links do not count.
      const holder =
        typeof link === "string"
          ? yield* await sessions.useLink(link, options)
          : holderOf(yield* await principalOfKey(context, key ?? "", address, options));
      if (holder === undefined) return err(NO_SESSION);
      const { session, secrets } = yield* await sessions.create(holder, { ...options, replaces: replaced?.id });
      if (replaced !== undefined) yield* await endReplaced(sessions, session, replaced, options);
      return ok({
        account: session.account,
        cookie: secrets.cookie,
        request_token: secrets.requestToken,
        expires_at: session.expiresAt,
        lifeMs: lifeOf(session),
      });
    });
  return new ResultAsync(catchBugs(work));
};

export const authenticateSession = (
  context: Context,
  secrets: SessionSecrets,
  options: CallOptions,
): ResultAsync<Principal, ControlPlaneError> =>
  sessionsOf(context).asyncAndThen(
    (sessions): ResultAsync<Principal, ControlPlaneError> => sessions.authenticate(secrets, options),
  );

export const signOut = accountUseCase({
  run: ({ context, principal: { account, sessionId }, options }) =>
    safeTry<{ detail: string }, ControlPlaneError>(async function* () {
      if (sessionId === undefined)
        return err(conflict("The request has no session. To end a session by its id, call /v1/console/revoke."));
      const sessions = yield* sessionsOf(context);
      yield* await sessions.revoke(account, sessionId, options);
      return ok({ detail: "You are signed out." });
    }),
});

export const listSessions = accountUseCase({
  run: ({ context, principal: { account, sessionId }, options }: Caller) =>
    safeTry<SessionList, ControlPlaneError>(async function* () {
      const sessions = yield* sessionsOf(context);
      const [own, keys] = yield* await ResultAsync.combine([
        sessions.list(account, options),
        context.ports.identity.keys.list(account, options),
      ] as const);
      return ok(listedSessions(own, keys, sessionId));
    }),
});

export const revokeSession = useCase({
  fields: revokeSessionFields,
  run: ({ context, principal, input: { id }, options }) =>
    safeTry<{ detail: string }, ControlPlaneError>(async function* () {
      const sessions = yield* sessionsOf(context);
      yield* await sessions.revoke(principal.account, id, options);
      return ok({ detail: `The session '${id}' is revoked.` });
    }),
});

/**
 * Resolves when the session of a request has ended, or when the signal aborts. A session that cannot be checked counts
 * as ended. For a principal without a session, resolves only when the signal aborts. A host calls this function for
 * each open response, so that the streams of a revoked session end.
 */
export const whenSignedOut = async (
  { ports: { clock, identity } }: Context,
  { account, sessionId }: Principal,
  { signal }: Required<CallOptions>,
): Promise<void> => {
  const { sessions } = identity;
  if (sessions === undefined || sessionId === undefined) return whenAborted(signal);
  while (!signal.aborted) {
    await clock.sleep(sessionLimits.checkMs, signal);
    if (signal.aborted) return;
    const check = (late: AbortSignal) =>
      catchBugs<boolean, ControlPlaneError>(async () => sessions.isLive(account, sessionId, { signal: late }));
    const live = await withinDeadline(clock, sessionLimits.checkMs, check, signal);
    if (live === undefined || live.isErr() || !live.value) return;
  }
};
