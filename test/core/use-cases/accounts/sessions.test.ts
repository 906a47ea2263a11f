/** Sessions in the control plane: when an open response must end, and how a platform without sessions responds. */
import { expect, test } from "vitest";
import { createManualClock, createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { accountOf } from "../../../../core/domain/accounts/account.ts";
import { sessionLimits } from "../../../../core/domain/accounts/limits.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { Authenticator } from "../../../../core/ports/authenticator.ts";
import type { Sessions } from "../../../../core/ports/sessions.ts";
import { errAsync, okAsync, ResultAsync } from "../../../../core/result.ts";

const acme = accountOf("acme");

const start = async (change: (sessions: Sessions) => Partial<Sessions> = () => ({})) => {
  const clock = createManualClock();
  const { ports } = createMemoryProvider({ clock });
  const own = ports.identity.sessions as Sessions;
  const sessions = { ...own, ...change(own) };
  const controlPlane = createControlPlane({ ...ports, identity: { ...ports.identity, sessions } });
  const { key } = (await ports.identity.keys.create(acme, "page"))._unsafeUnwrap();
  const { cookie, request_token } = (await controlPlane.signIn({ key }, "::1"))._unsafeUnwrap();
  const session = { cookie, requestToken: request_token };
  const principal = (await controlPlane.authenticate({ session }))._unsafeUnwrap();
  const closed = new AbortController();
  let hasEnded = false;
  const ended = controlPlane.whenSignedOut(principal, { signal: closed.signal }).then(() => {
    hasEnded = true;
  });
  return { clock, controlPlane, key, session, principal, closed, ended, hasEnded: () => hasEnded };
};

test("an open response ends within four seconds after its session", async () => {
  const { clock, controlPlane, principal, hasEnded } = await start();
  await clock.advance(60_000);
  expect(hasEnded()).toBe(false);
  (await controlPlane.signOut(principal))._unsafeUnwrap();
  await clock.advance(3999);
  expect(hasEnded()).toBe(false);
  await clock.advance(1);
  expect(hasEnded()).toBe(true);
});

test("an open response ends when its session expires", async () => {
  const { clock, hasEnded } = await start();
  await clock.advance(12 * 60 * 60_000 - 1);
  expect(hasEnded()).toBe(false);
  await clock.advance(4000);
  expect(hasEnded()).toBe(true);
});

test.each([
  ["fails", () => errAsync(unavailable("down"))],
  ["throws", () => new ResultAsync<boolean, never>(Promise.reject(new TypeError("a bug")))],
  ["does not answer", () => new ResultAsync<boolean, never>(new Promise(() => undefined))],
] as const)("an open response ends within eight seconds if the store of sessions %s", async (_what, isLive) => {
  const { clock, hasEnded } = await start(() => ({ isLive }));
  await clock.advance(8000);
  expect(hasEnded()).toBe(true);
});

test("the check ends when the response closes", async () => {
  let checks = 0;
  const isLive = () => {
    checks += 1;
    return okAsync(true);
  };
  const { clock, closed, ended } = await start(() => ({ isLive }));
  await clock.advance(4000);
  closed.abort();
  await ended;
  await clock.advance(60_000);
  expect(checks).toBe(1);
});

test("a platform without sessions rejects every call about sessions with unsupported", async () => {
  const { ports } = createMemoryProvider();
  const { sessions: _sessions, ...identity } = ports.identity;
  const controlPlane = createControlPlane({ ...ports, identity });
  const principal = { account: acme, credentialId: "k1", credentialKind: "key" } as const;
  expect(controlPlane.hasSessions).toBe(false);
  const answers = await Promise.all([
    controlPlane.createConsoleLink(principal),
    controlPlane.signIn({ key: "psk_x" }, "::1"),
    controlPlane.signOut({ ...principal, sessionId: "s1" }),
    controlPlane.listSessions(principal),
    controlPlane.revokeSession(principal, { id: "s1" }),
    controlPlane.authenticate({ session: { cookie: "a", requestToken: "b" } }),
  ]);
  expect(answers.map((answer) => answer._unsafeUnwrapErr().kind)).toEqual(Array(6).fill("unsupported"));
});

test("a sign-in that replaces a session of a full account ends only that session", async () => {
  const { controlPlane, key, principal } = await start();
  const signIn = async (replaces?: { cookie: string; requestToken: string }) =>
    (await controlPlane.signIn({ key }, "::1", { replaces }))._unsafeUnwrap();
  const idsOf = async () => {
    const { sessions } = (await controlPlane.listSessions(principal))._unsafeUnwrap();
    return sessions.map(({ id }) => id);
  };
  let newest = await signIn();
  for (let count = 2; count < sessionLimits.perAccount; count++) newest = await signIn();
  const before = await idsOf();
  await signIn({ cookie: newest.cookie, requestToken: newest.request_token });
  const after = await idsOf();
  expect(after).toHaveLength(sessionLimits.perAccount);
  expect(before.filter((id) => !after.includes(id))).toHaveLength(1);
});

test("a user of the embedding application cannot create a link", async () => {
  const { controlPlane } = await start();
  const user = { account: acme, credentialId: "u-17" };
  expect((await controlPlane.createConsoleLink(user))._unsafeUnwrapErr().kind).toBe("forbidden");
});

test("sign-ins from one address do not count against the limit of another address", async () => {
  const { controlPlane } = await start();
  const kindAt = async (address: string) =>
    (await controlPlane.signIn({ key: "psk_x" }, address))._unsafeUnwrapErr().kind;
  for (let count = 0; count < 20; count++) expect(await kindAt("10.0.0.1")).toBe("unauthenticated");
  expect(await kindAt("10.0.0.1")).toBe("rate_limited");
  expect(await kindAt("10.0.0.2")).toBe("unauthenticated");
});

test("concurrent attempts with invalid keys do not exceed the limit together", async () => {
  const { controlPlane } = await start();
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => controlPlane.signIn({ key: "psk_x" }, "10.0.0.1")),
  );
  expect(answers.filter((answer) => answer._unsafeUnwrapErr().kind === "unauthenticated")).toHaveLength(20);
});

test("valid keys, links, outages and invalid requests do not count as failed attempts", async () => {
  const { ports } = createMemoryProvider({ clock: createManualClock() });
  let down = false;
  const authenticate: Authenticator["authenticate"] = (...args) =>
    down ? errAsync(unavailable("down")) : ports.identity.authenticator.authenticate(...args);
  const controlPlane = createControlPlane({
    ...ports,
    identity: { ...ports.identity, authenticator: { authenticate } },
  });
  const { key } = (await ports.identity.keys.create(acme, "page"))._unsafeUnwrap();
  const kinds = async (request: object) =>
    (await controlPlane.signIn(request, "10.0.0.1")).match(
      () => "signed in",
      ({ kind }) => kind,
    );
  for (let count = 0; count < 21; count++) {
    expect(await kinds({ key })).toBe("signed in");
    expect(await kinds({ link: "no-such-link" })).toBe("forbidden");
    expect(await kinds({ key: "" })).toBe("invalid_input");
  }
  down = true;
  for (let count = 0; count < 21; count++) expect(await kinds({ key })).toBe("unavailable");
  down = false;
  for (let count = 0; count < 20; count++) expect(await kinds({ key: "psk_x" })).toBe("unauthenticated");
  expect(await kinds({ key })).toBe("rate_limited");
});

test("a sign-in fails while the session that it replaces cannot be ended", async () => {
  const { controlPlane, session, key } = await start(() => ({ revoke: () => errAsync(unavailable("down")) }));
  const again = await controlPlane.signIn({ key }, "::1", { replaces: session });
  expect(again._unsafeUnwrapErr().kind).toBe("unavailable");
  expect((await controlPlane.authenticate({ session })).isOk()).toBe(true);
});

test("a sign-in that fails keeps the session that it would replace", async () => {
  let isDown = false;
  const { controlPlane, session, key } = await start(({ create }) => ({
    create: (...args) => (isDown ? errAsync(unavailable("down")) : create(...args)),
  }));
  isDown = true;
  const again = await controlPlane.signIn({ key }, "::1", { replaces: session });
  expect(again._unsafeUnwrapErr().kind).toBe("unavailable");
  expect((await controlPlane.authenticate({ session })).isOk()).toBe(true);
});

test("a key or a token of a request takes precedence over its session", async () => {
  const { ports } = createMemoryProvider();
  const controlPlane = createControlPlane(ports);
  const [own, other] = await Promise.all(
    ["acme", "beta"].map(async (name) => (await ports.identity.keys.create(accountOf(name), "k"))._unsafeUnwrap().key),
  );
  const { cookie, request_token } = (await controlPlane.signIn({ key: own }, "::1"))._unsafeUnwrap();
  const session = { cookie, requestToken: request_token };
  const accountWith = async (headers: object) =>
    (await controlPlane.authenticate({ session, ...headers })).match(
      ({ account }) => account as string,
      ({ kind }) => kind,
    );
  expect(await accountWith({})).toBe("acme");
  expect(await accountWith({ apiKey: other })).toBe("beta");
  expect(await accountWith({ apiKey: "psk_wrong" })).toBe("unauthenticated");
  expect(await accountWith({ authorization: "Bearer wrong" })).toBe("unauthenticated");
});
