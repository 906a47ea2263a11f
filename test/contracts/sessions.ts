/** The cases of `Sessions` in the contract suite of identity adapters. An adapter without sessions passes them. */
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { sessionLimits } from "../../core/domain/accounts/limits.ts";
import { type Instant, millisOf, parseInstant } from "../../core/domain/wire/instant.ts";
import type { Identity } from "../../core/ports/provider.ts";
import type { SessionHolder, SessionSecrets, Sessions } from "../../core/ports/sessions.ts";
import type { ContractCase, IdentitySubject } from "./harness.ts";
import { expectError, expectOk } from "./support.ts";

const SECRET = /^[A-Za-z0-9]{43,}$/;
const HOURS_12 = 12 * 60 * 60_000;
const MINUTE = 60_000;
/** Tolerates a slow machine between a call and the check of its times. */
const SLOW_MS = 30_000;

const holderOf = async ({ keys }: Identity, account: AccountId): Promise<SessionHolder> => {
  const { id } = await expectOk(keys.create(account, "holder"));
  return { account, credential: { kind: "key", id, keyId: id }, expiresAt: undefined };
};

const lifeOf = (expiresAt: Instant): number => millisOf(expiresAt) - Date.now();

interface Started {
  readonly identity: Identity;
  readonly sessions: Sessions;
  account(): AccountId;
}

const withSessions =
  (run: (started: Started) => Promise<void>) =>
  async ({ identity, account }: IdentitySubject): Promise<void> => {
    const { sessions } = identity;
    if (sessions !== undefined) await run({ identity, sessions, account });
  };

/** Pairs of secrets in which one secret is wrong, or belongs to the other session. */
const wrongSecrets = (own: SessionSecrets, other: SessionSecrets): SessionSecrets[] => [
  { ...own, cookie: other.cookie },
  { ...own, requestToken: other.requestToken },
  { cookie: own.requestToken, requestToken: own.cookie },
  { ...own, cookie: `${own.cookie} ` },
  { ...own, requestToken: "" },
  { cookie: "", requestToken: "" },
];

export const sessionCases: readonly ContractCase<IdentitySubject>[] = [
  {
    group: "sessions",
    name: "a new session authenticates as its credential, only with both of its secrets",
    run: withSessions(async ({ identity, sessions, account }) => {
      const holder = await holderOf(identity, account());
      const [own, other] = [await expectOk(sessions.create(holder)), await expectOk(sessions.create(holder))];
      for (const secret of Object.values(own.secrets)) expect(secret).toMatch(SECRET);
      expect(own.secrets.cookie).not.toBe(own.secrets.requestToken);
      expect(await expectOk(sessions.authenticate(own.secrets))).toEqual({
        account: holder.account,
        credentialId: holder.credential.id,
        credentialKind: "key",
        sessionId: own.session.id,
        expiresAt: parseInstant(own.session.expiresAt),
      });
      for (const wrong of wrongSecrets(own.secrets, other.secrets)) {
        const refused = await expectError(sessions.authenticate(wrong));
        expect(refused.kind).toBe("unauthenticated");
        expect(refused.message).not.toContain(own.secrets.requestToken);
      }
    }),
  },
  {
    group: "sessions",
    name: "a session lasts 12 hours, or until its credential expires",
    run: withSessions(async ({ identity, sessions, account }) => {
      const holder = await holderOf(identity, account());
      const { session } = await expectOk(sessions.create(holder));
      const life = lifeOf(parseInstant(session.expiresAt) as Instant);
      expect(life).toBeLessThanOrEqual(HOURS_12 + 1000);
      expect(life).toBeGreaterThan(HOURS_12 - SLOW_MS);
      const expiresAt = parseInstant(new Date(Date.now() + MINUTE).toISOString()) as Instant;
      const shorter = await expectOk(sessions.create({ ...holder, expiresAt }));
      expect(parseInstant(shorter.session.expiresAt)).toBe(expiresAt);
    }),
  },
  {
    group: "session lists",
    name: "sessions are listed oldest first with their credential, without their secrets, to their account only",
    run: withSessions(async ({ identity, sessions, account }) => {
      const holder = await holderOf(identity, account());
      const made = [];
      for (let count = 0; count < 2; count++) made.push(await expectOk(sessions.create(holder)));
      const listed = await expectOk(sessions.list(holder.account));
      expect(listed).toEqual(made.map(({ session }) => session));
      expect(listed[0]?.credential).toEqual(holder.credential);
      for (const { secrets } of made)
        for (const secret of Object.values(secrets)) expect(JSON.stringify(listed)).not.toContain(secret);
      expect(await expectOk(sessions.list(account()))).toEqual([]);
    }),
  },
  {
    group: "ended sessions",
    name: "a revoked session no longer authenticates, is not live and is not listed",
    run: withSessions(async ({ identity, sessions, account }) => {
      const holder = await holderOf(identity, account());
      const [own, kept] = [await expectOk(sessions.create(holder)), await expectOk(sessions.create(holder))];
      const { id } = own.session;
      expect(await expectOk(sessions.isLive(holder.account, id))).toBe(true);
      expect(await expectOk(sessions.isLive(account(), id))).toBe(false);
      expect((await expectError(sessions.revoke(account(), id))).kind).toBe("not_found");
      await expectOk(sessions.revoke(holder.account, id));
      expect((await expectError(sessions.revoke(holder.account, id))).kind).toBe("not_found");
      expect((await expectError(sessions.authenticate(own.secrets))).kind).toBe("unauthenticated");
      expect(await expectOk(sessions.isLive(holder.account, id))).toBe(false);
      expect(await expectOk(sessions.list(holder.account))).toEqual([kept.session]);
    }),
  },
  {
    group: "ended sessions",
    name: "revoking a session that is unknown, has expired or has lost its key fails with not_found",
    run: withSessions(async ({ identity, sessions, account }) => {
      const holder = await holderOf(identity, account());
      const past = parseInstant(new Date(Date.now() - MINUTE).toISOString()) as Instant;
      const orphan = await expectOk(sessions.create(holder));
      // Created last, because an adapter may delete expired sessions when another session starts.
      const expired = await expectOk(sessions.create({ ...holder, expiresAt: past }));
      await expectOk(identity.keys.revoke(holder.account, holder.credential.id));
      for (const id of ["no-such-session", expired.session.id, orphan.session.id]) {
        const refused = await expectError(sessions.revoke(holder.account, id));
        expect(refused.kind).toBe("not_found");
        expect(refused.message).toContain(id);
      }
    }),
  },
  {
    group: "session lists",
    name: "an account with several keys lists each session once, with the key that started it",
    run: withSessions(async ({ identity, sessions, account }) => {
      const owner = account();
      const holders = [await holderOf(identity, owner), await holderOf(identity, owner)];
      const made = [];
      for (const holder of [...holders, ...holders]) made.push(await expectOk(sessions.create(holder)));
      const listed = await expectOk(sessions.list(owner));
      expect(listed.map(({ id }) => id).sort()).toEqual(made.map(({ session }) => session.id).sort());
      expect(new Map(listed.map(({ id, credential }) => [id, credential.id]))).toEqual(
        new Map(made.map(({ session }) => [session.id, session.credential.id])),
      );
    }),
  },
  {
    group: "session limits",
    name: "a session beyond the maximum number starts, and ends one of the oldest",
    run: withSessions(async ({ identity, sessions, account }) => {
      const holder = await holderOf(identity, account());
      const made = [];
      for (let count = 0; count <= sessionLimits.perAccount; count++)
        made.push(await expectOk(sessions.create(holder)));
      const listed = (await expectOk(sessions.list(holder.account))).map(({ id }) => id);
      expect(listed).toHaveLength(sessionLimits.perAccount);
      const [ended] = made.filter(({ session }) => !listed.includes(session.id));
      const oldest = made.map(({ session }) => session.createdAt).sort()[0];
      expect(ended?.session.createdAt).toBe(oldest);
      expect((await expectError(sessions.authenticate(ended?.secrets as SessionSecrets))).kind).toBe("unauthenticated");
      await expectOk(sessions.authenticate(made.at(-1)?.secrets as SessionSecrets));
    }),
  },
  {
    group: "session limits",
    name: "a session that replaces another one ends no third session, even at the maximum number",
    run: withSessions(async ({ identity, sessions, account }) => {
      const holder = await holderOf(identity, account());
      const made = [];
      for (let count = 0; count < sessionLimits.perAccount; count++)
        made.push((await expectOk(sessions.create(holder))).session.id);
      const replaces = made.at(-1) as string;
      const { session } = await expectOk(sessions.create(holder, { replaces }));
      await expectOk(sessions.revoke(holder.account, replaces));
      const listed = (await expectOk(sessions.list(holder.account))).map(({ id }) => id);
      expect(new Set(listed)).toEqual(new Set([...made.slice(0, -1), session.id]));
    }),
  },
  {
    group: "sessions of revoked keys",
    name: "the sessions and links of a revoked key end, and those of other keys do not",
    run: withSessions(async ({ identity, sessions, account }) => {
      const owner = account();
      const [revoked, kept] = [await holderOf(identity, owner), await holderOf(identity, owner)];
      const [own, other] = [await expectOk(sessions.create(revoked)), await expectOk(sessions.create(kept))];
      const links = [await expectOk(sessions.createLink(revoked)), await expectOk(sessions.createLink(kept))] as const;
      await expectOk(identity.keys.revoke(owner, revoked.credential.id));
      expect((await expectError(sessions.authenticate(own.secrets))).kind).toBe("unauthenticated");
      expect(await expectOk(sessions.isLive(owner, own.session.id))).toBe(false);
      expect((await expectOk(sessions.list(owner))).map(({ id }) => id)).toEqual([other.session.id]);
      expect((await expectError(sessions.useLink(links[0].token))).kind).toBe("forbidden");
      await expectOk(sessions.authenticate(other.secrets));
      await expectOk(sessions.useLink(links[1].token));
    }),
  },
  {
    group: "links",
    name: "a link returns its holder once, and is valid for a minute or until its credential expires",
    run: withSessions(async ({ identity, sessions, account }) => {
      const holder = await holderOf(identity, account());
      const { token, expiresAt } = await expectOk(sessions.createLink(holder));
      expect(token).toMatch(SECRET);
      expect(lifeOf(expiresAt)).toBeLessThanOrEqual(MINUTE + 1000);
      expect(lifeOf(expiresAt)).toBeGreaterThan(MINUTE - SLOW_MS);
      expect(await expectOk(sessions.useLink(token))).toEqual(holder);
      for (const wrong of [token, "", "x".repeat(43)]) {
        const refused = await expectError(sessions.useLink(wrong));
        expect(refused.kind).toBe("forbidden");
        expect(refused.message).not.toContain(token);
      }
      const soon = parseInstant(new Date(Date.now() + SLOW_MS).toISOString()) as Instant;
      const shorter = await expectOk(sessions.createLink({ ...holder, expiresAt: soon }));
      expect(shorter.expiresAt).toBe(soon);
      expect(await expectOk(sessions.useLink(shorter.token))).toEqual({ ...holder, expiresAt: soon });
    }),
  },
  {
    group: "concurrent links",
    name: "exactly one of several concurrent callers can use a link",
    run: withSessions(async ({ identity, sessions, account }) => {
      const { token } = await expectOk(sessions.createLink(await holderOf(identity, account())));
      const answers = await Promise.all(Array.from({ length: 8 }, () => sessions.useLink(token)));
      expect(answers.filter((answer) => answer.isOk())).toHaveLength(1);
    }),
  },
];
