/** Sessions of the console on a store of records: their expiry, their last use, and what the store contains. */
import { expect, test } from "vitest";
import { createMemorySessions } from "../../../../adapters/memory/accounts/sessions.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { createWorld } from "../../../../adapters/memory/world.ts";
import type { SessionRecords } from "../../../../adapters/shared/accounts/session-record.ts";
import { createSessions } from "../../../../adapters/shared/accounts/sessions.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import { type AccountId, accountOf } from "../../../../core/domain/accounts/account.ts";
import { okAsync } from "../../../../core/result.ts";

const HOUR = 60 * 60_000;
const acme = accountOf("acme");
const holder = {
  account: acme,
  credential: { kind: "key", id: "k1", keyId: "k1" },
  expiresAt: undefined,
} as const;

const setUp = (
  wrap: (records: SessionRecords) => SessionRecords = (records) => records,
  onKeyRead: (keyId: string) => void = () => {},
) => {
  const world = createWorld();
  const clock = createManualClock();
  const warnings: unknown[] = [];
  const logger = {
    debug: () => {},
    info: () => {},
    warn: (...args: unknown[]) => warnings.push(args),
    error: () => {},
  };
  const records = wrap(createMemorySessions(world));
  const has = (_account: AccountId, keyId: string) => {
    onKeyRead(keyId);
    return okAsync(true);
  };
  const sessions = createSessions({ records, keys: { has }, clock, ids: randomIds, logger });
  const create = async () => (await sessions.create(holder))._unsafeUnwrap();
  return { world, clock, sessions, create, warnings };
};

test("a session ends after 12 hours, and a link after 60 seconds", async () => {
  const { sessions, clock, create } = setUp();
  const { secrets, session } = await create();
  const links = [await sessions.createLink(holder), await sessions.createLink(holder)];
  const [early = "", late = ""] = links.map((link) => link._unsafeUnwrap().token);
  await clock.advance(59_999);
  expect((await sessions.useLink(early)).isOk()).toBe(true);
  await clock.advance(1);
  expect((await sessions.useLink(late))._unsafeUnwrapErr().kind).toBe("forbidden");
  await clock.advance(12 * HOUR - 60_001);
  expect((await sessions.authenticate(secrets)).isOk()).toBe(true);
  await clock.advance(1);
  expect((await sessions.authenticate(secrets))._unsafeUnwrapErr().kind).toBe("unauthenticated");
  expect((await sessions.isLive(acme, session.id))._unsafeUnwrap()).toBe(false);
  expect((await sessions.list(acme))._unsafeUnwrap()).toEqual([]);
});

test("the store contains no secret, and drops what has expired", async () => {
  const { world, sessions, clock, create } = setUp();
  const { secrets } = await create();
  const { token } = (await sessions.createLink(holder))._unsafeUnwrap();
  const stored = JSON.stringify([...world.sessions, ...world.links]);
  for (const secret of [token, secrets.cookie, secrets.requestToken]) expect(stored).not.toContain(secret);
  await clock.advance(12 * HOUR);
  await create();
  expect([world.sessions.size, world.links.size]).toEqual([1, 0]);
});

test("an account has at most 100 sessions: a further sign-in ends the oldest one, and none of another account", async () => {
  const { sessions, clock, create } = setUp();
  const beta = { ...holder, account: accountOf("beta") };
  const other = (await sessions.create(beta))._unsafeUnwrap();
  const made: string[] = [];
  for (let count = 0; count < 101; count++) {
    made.push((await create()).session.id);
    await clock.advance(1);
  }
  expect((await sessions.list(acme))._unsafeUnwrap().map(({ id }) => id)).toEqual(made.slice(1));
  expect((await sessions.isLive(beta.account, other.session.id))._unsafeUnwrap()).toBe(true);
});

test("checks one session by its id, without reading the account's other sessions", async () => {
  let lists = 0;
  const { sessions, create } = setUp((records) => ({
    ...records,
    ofAccount: async (account) => {
      lists++;
      return records.ofAccount(account);
    },
  }));
  const { session } = await create();
  const before = lists;
  expect((await sessions.isLive(acme, session.id))._unsafeUnwrap()).toBe(true);
  expect((await sessions.isLive(accountOf("beta"), session.id))._unsafeUnwrap()).toBe(false);
  expect(lists).toBe(before);
});

test("reads each key once for a list", async () => {
  const read: string[] = [];
  const { sessions } = setUp(undefined, (keyId) => read.push(keyId));
  for (const id of ["k1", "k2", "k1"])
    (await sessions.create({ ...holder, credential: { kind: "key", id, keyId: id } }))._unsafeUnwrap();
  expect((await sessions.list(acme))._unsafeUnwrap().map(({ credential }) => credential.id)).toEqual([
    "k1",
    "k2",
    "k1",
  ]);
  expect(read.sort()).toEqual(["k1", "k2"]);
});

test("revoking a session that has expired fails with not_found", async () => {
  const { sessions, clock, create } = setUp();
  const { session } = await create();
  await clock.advance(12 * HOUR);
  expect((await sessions.revoke(acme, session.id))._unsafeUnwrapErr().kind).toBe("not_found");
});

test("lastSeenAt is written at most once a minute, and a failed write is only logged", async () => {
  const seen: string[] = [];
  const { sessions, clock, create, warnings } = setUp((records) => ({
    ...records,
    seen: async (id, at) => {
      seen.push(at);
      await records.seen(id, at);
      if (seen.length === 2) throw new Error("disk full");
    },
  }));
  const { secrets } = await create();
  for (const wait of [0, 59_999, 1, 60_000]) {
    await clock.advance(wait);
    expect((await sessions.authenticate(secrets)).isOk()).toBe(true);
  }
  expect(seen).toEqual(["2026-01-01T00:00:00+00:00", "2026-01-01T00:01:00+00:00", "2026-01-01T00:02:00+00:00"]);
  expect(warnings).toHaveLength(1);
});

test("a store that fails makes every call unavailable", async () => {
  const fail = async () => {
    throw new Error("connection refused");
  };
  const { sessions } = setUp(() => ({
    insert: fail,
    withCookie: fail,
    find: fail,
    ofAccount: fail,
    remove: fail,
    seen: fail,
    insertLink: fail,
    takeLink: fail,
    removeExpired: fail,
  }));
  const answers = await Promise.all([
    sessions.create(holder),
    sessions.createLink(holder),
    sessions.useLink("x"),
    sessions.authenticate({ cookie: "x", requestToken: "y" }),
    sessions.isLive(acme, "s1"),
    sessions.list(acme),
    sessions.revoke(acme, "s1"),
  ]);
  expect(answers.map((answer) => answer._unsafeUnwrapErr().kind)).toEqual(Array(7).fill("unavailable"));
});
