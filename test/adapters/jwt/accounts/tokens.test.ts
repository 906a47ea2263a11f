/** The platform's own tokens: short-lived, for the caller's account, and signed with a key that may load late. */
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { createIdentity, generateSigningKey } from "../../../../adapters/jwt/index.ts";
import { createMemoryKeys } from "../../../../adapters/memory/accounts/keys.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { createWorld } from "../../../../adapters/memory/world.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import { type AccountId, type Principal, parseAccount } from "../../../../core/domain/accounts/account.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import { forged, issuerKey, signed } from "../../../support/accounts/token-issuer.ts";

const principal: Principal = { account: parseAccount("id.example:user|1") as AccountId, credentialId: "key" };
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const setUp = async (loadSigningKey?: () => ReturnType<typeof generateSigningKey>) => {
  const clock = createManualClock();
  const key = await generateSigningKey();
  const world = createWorld();
  const identity = createIdentity({
    records: createMemoryKeys(world),
    loadSigningKey: loadSigningKey ?? (async () => key),
    clock,
    ids: randomIds,
    logger,
  });
  const who = async (value: string) =>
    (await identity.authenticator.authenticate({ kind: "bearer", value })).match(
      ({ account }) => account as string,
      ({ kind }) => kind,
    );
  const issue = async () => (await identity.tokens.issue(principal))._unsafeUnwrap();
  return { clock, world, key, identity, who, issue };
};

test("a token identifies the account that requested it, for exactly an hour", async () => {
  const { clock, who, issue } = await setUp();
  const { token, expiresAt } = await issue();
  expect(timestampOf(expiresAt)).toBe("2026-01-01T01:00:00+00:00");
  expect(decodeProtectedHeader(token)).toEqual({ alg: "EdDSA" });
  expect(Object.keys(decodeJwt(token)).sort()).toEqual(["aud", "exp", "iat", "iss", "jti", "portside_key", "sub"]);
  expect(await who(token)).toBe("id.example:user|1");
  await clock.advance(3_599_000);
  expect(await who(token)).toBe("id.example:user|1");
  await clock.advance(1000);
  expect(await who(token)).toBe("unauthenticated");
});

test("a token does not contain the signing key, and an API key is not a token", async () => {
  const { who, issue, identity } = await setUp();
  expect(JSON.stringify(decodeJwt((await issue()).token))).not.toContain('"d"');
  const { key } = (await identity.keys.create(principal.account, "ci"))._unsafeUnwrap();
  expect(await who(key)).toBe("unauthenticated");
});

describe("only the platform can sign its tokens", () => {
  const claims = { iss: "portside", aud: "portside", sub: "acme", exp: 4_102_444_800 };

  test("not with a different key", async () => {
    const { who } = await setUp();
    expect(await who(await signed(claims, await issuerKey("any", "EdDSA")))).toBe("unauthenticated");
    expect(await who(await signed(claims, await issuerKey("any", "ES256")))).toBe("unauthenticated");
    expect(await who(forged({ alg: "none" }, claims))).toBe("unauthenticated");
  });

  test("not with another platform's key", async () => {
    const [one, other] = [await setUp(), await setUp()];
    expect(await other.who((await one.issue()).token)).toBe("unauthenticated");
  });
});

describe("a token that names its API key", () => {
  const setUpWithKey = async () => {
    const set = await setUp();
    const { id, key } = (await set.identity.keys.create(principal.account, "ci"))._unsafeUnwrap();
    const holder = (await set.identity.authenticator.authenticate({ kind: "api_key", value: key }))._unsafeUnwrap();
    const { token } = (await set.identity.tokens.issue(holder))._unsafeUnwrap();
    expect(await set.who(token)).toBe(principal.account);
    return { ...set, id, token };
  };

  test("is invalid immediately after a revocation here, and within ten seconds of one elsewhere", async () => {
    const [here, elsewhere] = [await setUpWithKey(), await setUpWithKey()];
    expect((await here.identity.keys.revoke(principal.account, here.id)).isOk()).toBe(true);
    expect(await here.who(here.token)).toBe("unauthenticated");
    elsewhere.world.keys.delete(elsewhere.id);
    await elsewhere.clock.advance(10_000);
    expect(await elsewhere.who(elsewhere.token)).toBe("unauthenticated");
  });

  test("remains valid for up to ten seconds after a revocation elsewhere, because its key is cached", async () => {
    const { world, id, who, token, clock } = await setUpWithKey();
    world.keys.delete(id);
    await clock.advance(9_999);
    expect(await who(token)).toBe(principal.account);
  });

  test("is invalid if it names no existing key, like tokens of earlier versions", async () => {
    const { key, who } = await setUp();
    const claims = { iss: "portside", aud: "portside", sub: "acme", exp: 4_102_444_800 };
    const sign = async (more: object) =>
      new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: "EdDSA" }).sign(await importJWK(key, "EdDSA"));
    expect(await who(await sign({ portside_key: null }))).toBe("acme");
    for (const more of [{}, { portside_key: 7 }, { portside_key: "" }, { portside_key: "never-was" }])
      expect(await who(await sign(more))).toBe("unauthenticated");
  });
});

test("retries loading a signing key", async () => {
  const key = await generateSigningKey();
  let times = 0;
  const { identity, who, issue } = await setUp(async () => {
    if (++times === 1) throw new Error("database is locked");
    return key;
  });
  expect((await identity.tokens.issue(principal))._unsafeUnwrapErr().kind).toBe("unavailable");
  expect(await who((await issue()).token)).toBe("id.example:user|1");
  expect(times).toBe(2);
});
