/** Credentials and sessions in PostgreSQL, on a real server: the contract, shared replicas, migrations, an outage. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { silent } from "../../../../adapters/local/accounts/identity.ts";
import { createManualClock, createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createPostgresIdentity } from "../../../../adapters/postgres/index.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/runtime/system.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { type AccountId, parseAccount } from "../../../../core/domain/accounts/account.ts";
import type { Sessions } from "../../../../core/ports/sessions.ts";
import { createKeyInFolder } from "../../../../hosts/composition/accounts/bootstrap.ts";
import { firstKey } from "../../../../hosts/composition/accounts/first-key.ts";
import { buildPlatform, resolveSettings, SettingsError } from "../../../../hosts/composition/index.ts";
import { contractTests, freshNames, identityCases } from "../../../contracts/index.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { startPostgres } from "../../../support/providers/postgres.ts";
import { has, needs } from "../../../support/vitest/machine.ts";

let server: Awaited<ReturnType<typeof startPostgres>>;
beforeAll(async () => {
  if (has("postgres")) server = await startPostgres();
});
afterAll(() => server?.close());
beforeEach((context) => needs(context, "postgres"));

const config = { clock: createSystemClock(), ids: randomIds, logger: silent };
const replica = () => createPostgresIdentity(server.pool(), config);
const acme = parseAccount("acme") as AccountId;

if (has("postgres"))
  contractTests("PostgreSQL identity", identityCases, async () => {
    const own = await startPostgres();
    const { identity } = await createPostgresIdentity(own.pool(), config);
    return { subject: { identity, ...freshNames("pg") }, close: own.close };
  });

test("concurrently started replicas create the tables once, and share keys and the signing key", async () => {
  const replicas = await Promise.all(Array.from({ length: 5 }, replica));
  const [first, second] = replicas.map(({ identity }) => identity);
  if (first === undefined || second === undefined) throw new Error("there are no replicas");
  const { key, id } = (await first.keys.create(acme, "shared"))._unsafeUnwrap();
  const credential = { kind: "api_key", value: key } as const;
  expect((await second.authenticator.authenticate(credential))._unsafeUnwrap().account).toBe(acme);
  const principal = { account: acme, credentialId: id, credentialKind: "key" } as const;
  const tokens = await Promise.all(replicas.map(({ identity }) => identity.tokens.issue(principal)));
  for (const token of tokens)
    for (const { identity } of replicas) {
      const bearer = { kind: "bearer", value: token._unsafeUnwrap().token } as const;
      expect((await identity.authenticator.authenticate(bearer))._unsafeUnwrap().account).toBe(acme);
    }
  expect((await second.keys.revoke(acme, id)).isOk()).toBe(true);
  expect((await first.authenticator.authenticate(credential))._unsafeUnwrapErr().kind).toBe("unauthenticated");
});

test("a token becomes invalid on every replica within ten seconds of its key's revocation", async () => {
  const clock = createManualClock();
  const replicas = await Promise.all(
    Array.from({ length: 3 }, () => createPostgresIdentity(server.pool(), { ...config, clock })),
  );
  const [first] = replicas.map(({ identity }) => identity);
  if (first === undefined) throw new Error("there are no replicas");
  const { id } = (await first.keys.create(acme, "revoked"))._unsafeUnwrap();
  const holder = { account: acme, credentialId: id, credentialKind: "key" } as const;
  const { token } = (await first.tokens.issue(holder))._unsafeUnwrap();
  const kinds = () =>
    Promise.all(
      replicas.map(async ({ identity }) => {
        const answer = await identity.authenticator.authenticate({ kind: "bearer", value: token });
        return answer.isErr() ? answer.error.kind : answer.value.credentialKind;
      }),
    );
  expect(new Set(await kinds())).toEqual(new Set(["platform_token"]));
  expect((await first.keys.revoke(acme, id)).isOk()).toBe(true);
  await clock.advance(10_000);
  expect(new Set(await kinds())).toEqual(new Set(["unauthenticated"]));
});

test("a session ends on every replica with its key, and its link works on one replica only", async () => {
  const replicas = await Promise.all(Array.from({ length: 2 }, replica));
  const [first, second] = replicas.map(({ identity: { keys, sessions } }) => ({
    keys,
    sessions: sessions as Sessions,
  }));
  if (first === undefined || second === undefined) throw new Error("there are no replicas");
  const { id } = (await first.keys.create(acme, "console"))._unsafeUnwrap();
  const holder = { account: acme, credential: { kind: "key", id, keyId: id }, expiresAt: undefined } as const;
  const { token } = (await first.sessions.createLink(holder))._unsafeUnwrap();
  const uses = await Promise.all([first, second].map(({ sessions }) => sessions.useLink(token)));
  expect(uses.filter((use) => use.isOk())).toHaveLength(1);
  const { session, secrets } = (await first.sessions.create(holder))._unsafeUnwrap();
  expect((await second.sessions.authenticate(secrets))._unsafeUnwrap().sessionId).toBe(session.id);
  expect((await first.keys.revoke(acme, id)).isOk()).toBe(true);
  for (const { sessions } of [first, second]) {
    expect((await sessions.authenticate(secrets))._unsafeUnwrapErr().kind).toBe("unauthenticated");
    expect((await sessions.isLive(acme, session.id))._unsafeUnwrap()).toBe(false);
  }
});

test("a finished migration does not run again, and no key is lost", async () => {
  const before = await replica();
  const { id } = (await before.identity.keys.create(acme, "kept"))._unsafeUnwrap();
  const after = await replica();
  const ids = (await after.identity.keys.list(acme))._unsafeUnwrap().map((key) => key.id);
  expect(ids).toContain(id);
  const { rows } = await server.pool().query("SELECT version FROM portside_migrations ORDER BY version");
  expect(rows).toEqual([{ version: 1 }, { version: 2 }]);
});

test("stores no part of a key that could be used", async () => {
  const { identity } = await replica();
  const { key } = (await identity.keys.create(acme, "secret"))._unsafeUnwrap();
  const { rows } = await server.pool().query("SELECT * FROM portside_keys");
  expect(JSON.stringify(rows)).not.toContain(key.slice(12));
});

test("calls are unavailable while the server is down, and work again when it returns", async () => {
  const { identity } = await replica();
  const { key } = (await identity.keys.create(acme, "patient"))._unsafeUnwrap();
  const credential = { kind: "api_key", value: key } as const;
  await server.stop();
  expect((await identity.authenticator.authenticate(credential))._unsafeUnwrapErr().kind).toBe("unavailable");
  expect((await identity.keys.create(acme, "no"))._unsafeUnwrapErr().kind).toBe("unavailable");
  await server.restart();
  expect((await identity.authenticator.authenticate(credential))._unsafeUnwrap().account).toBe(acme);
});

test("replicas of the whole platform create one first key, and accept it and the keys of the command", async () => {
  const settings = (dataDir: string) =>
    resolveSettings({ provider: "memory", dataDir, keysDatabase: own.url, logLevel: "error" }, {});
  const own = await startPostgres();
  using folder = folderWith();
  try {
    const [one, two] = await Promise.all([buildPlatform(settings(folder.path)), buildPlatform(settings(folder.path))]);
    const offered = await Promise.all([one, two].map(firstKey));
    const first = offered.find((key) => key !== undefined);
    expect(first).toMatch(/^psk_/);
    expect(offered).toContain(undefined);
    const made = await createKeyInFolder(
      { dataDir: folder.path },
      { PORTSIDE_KEYS_DATABASE: own.url },
      acme,
      "by hand",
    );
    for (const { controlPlane } of [one, two])
      for (const apiKey of [first, made.key]) expect((await controlPlane.authenticate({ apiKey })).isOk()).toBe(true);
    await Promise.all([one.close(), two.close()]);
    const again = await buildPlatform(settings(folder.path));
    expect(await firstKey(again)).toBeUndefined();
    await again.close();
  } finally {
    await own.close();
  }
});

test("reports a database that does not respond at the start, without its password", async () => {
  using folder = folderWith();
  const keysDatabase = "postgres://someone:s3cret@127.0.0.1:1/nothing";
  const settings = resolveSettings({ provider: "memory", dataDir: folder.path, keysDatabase }, {});
  const refusal = await buildPlatform(settings).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(SettingsError);
  expect((refusal as Error).message).toContain("PORTSIDE_KEYS_DATABASE");
  expect((refusal as Error).message).not.toContain("s3cret");
});

test("replicas share sessions and links, and a session ends on every replica as soon as its key is revoked", async () => {
  const replicas = await Promise.all([replica(), replica()]);
  const [first, second] = replicas.map(({ identity }) => identity);
  if (first?.sessions === undefined || second?.sessions === undefined) throw new Error("there are no sessions");
  const { id } = (await first.keys.create(acme, "session"))._unsafeUnwrap();
  const credential = { kind: "key", id, keyId: id } as const;
  const { token } = (
    await first.sessions.createLink({ account: acme, credential, expiresAt: undefined })
  )._unsafeUnwrap();
  const uses = await Promise.all([first, second, first, second].map(({ sessions }) => sessions?.useLink(token)));
  expect(uses.filter((use) => use?.isOk())).toHaveLength(1);
  const holder = { account: acme, credential, expiresAt: undefined };
  const { secrets, session } = (await first.sessions.create(holder))._unsafeUnwrap();
  expect((await second.sessions.authenticate(secrets))._unsafeUnwrap().sessionId).toBe(session.id);
  expect((await first.keys.revoke(acme, id)).isOk()).toBe(true);
  expect((await second.sessions.authenticate(secrets))._unsafeUnwrapErr().kind).toBe("unauthenticated");
  expect((await second.sessions.isLive(acme, session.id))._unsafeUnwrap()).toBe(false);
});

test("a request of one replica ends within ten seconds after another replica revokes its session", async () => {
  const clock = createManualClock();
  const memory = createMemoryProvider({ clock });
  const [one, two] = await Promise.all(
    [1, 2].map(async () => {
      const { identity } = await createPostgresIdentity(server.pool(), { ...config, clock });
      return createControlPlane({ ...memory.ports, identity });
    }),
  );
  if (one === undefined || two === undefined) throw new Error("there are no replicas");
  const { key } = (await one.createKey({ account: acme, credentialId: "test" }, { label: "page" }))._unsafeUnwrap();
  const { cookie, request_token } = (await one.signIn({ key }, "::1"))._unsafeUnwrap();
  const session = { cookie, requestToken: request_token };
  const principal = (await two.authenticate({ session }))._unsafeUnwrap();
  let hasEnded = false;
  const ended = two.whenSignedOut(principal, { signal: new AbortController().signal }).then(() => {
    hasEnded = true;
  });
  await clock.advance(4000);
  expect(hasEnded).toBe(false);
  expect((await one.revokeSession(principal, { id: principal.sessionId ?? "" })).isOk()).toBe(true);
  // The check queries the database, which the manual clock does not control.
  await expect.poll(() => clock.advance(4000).then(() => hasEnded)).toBe(true);
  await ended;
});

test("stores no secret of a session or link", async () => {
  const { identity } = await replica();
  const { sessions } = identity;
  if (sessions === undefined) throw new Error("there are no sessions");
  const holder = { account: acme, credential: { kind: "issuer_token", id: "jwt:1", keyId: null } as const };
  const { secrets } = (await sessions.create({ ...holder, expiresAt: undefined }))._unsafeUnwrap();
  const { token } = (await sessions.createLink({ ...holder, expiresAt: undefined }))._unsafeUnwrap();
  const { rows: stored } = await server.pool().query("SELECT * FROM portside_sessions");
  const { rows: links } = await server.pool().query("SELECT * FROM portside_links");
  const text = JSON.stringify([stored, links]);
  for (const secret of [token, ...Object.values(secrets)]) expect(text).not.toContain(secret);
});
