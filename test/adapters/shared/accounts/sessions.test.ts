/** Sessions of the console on a store of records: their expiry, their last use, and what the store contains. */
import { expect, test } from "vitest";
import { createMemorySessions } from "../../../../adapters/memory/accounts/sessions.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { createWorld } from "../../../../adapters/memory/world.ts";
import type { SessionRecords } from "../../../../adapters/shared/accounts/session-record.ts";
import { createSessions } from "../../../../adapters/shared/accounts/sessions.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import { accountOf } from "../../../../core/domain/accounts/account.ts";
import { okAsync } from "../../../../core/result.ts";

const HOUR = 60 * 60_000;
const acme = accountOf("acme");
const holder = {
  account: acme,
  credential: { kind: "key", id: "k1", keyId: "k1" },
  expiresAt: undefined,
} as const;

const setUp = (wrap: (records: SessionRecords) => SessionRecords = (records) => records) => {
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
  const sessions = createSessions({ records, keys: { has: () => okAsync(true) }, clock, ids: randomIds, logger });
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
    ...{ insert: fail, withCookie: fail, ofAccount: fail, remove: fail, seen: fail },
    ...{ insertLink: fail, takeLink: fail, removeExpired: fail },
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
