/** Bearer tokens of an issuer: the valid one, and every way in which a token can be invalid. */
import type { JWTPayload } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { createJwtAuthenticator } from "../../../../adapters/jwt/accounts/jwt.ts";
import { accountFromClaim, issuerAlias } from "../../../../adapters/jwt/index.ts";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/index.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import {
  AUDIENCE,
  forged,
  goodClaims,
  ISSUER,
  type IssuerKey,
  issuerKey,
  signed,
  signedWithPublicKey,
} from "../../../support/accounts/token-issuer.ts";

let key: IssuerKey;
let strange: IssuerKey;
let clock: ManualClock;
let now: number;

beforeAll(async () => {
  [key, strange] = await Promise.all([issuerKey("key"), issuerKey("key")]);
});

const authenticate = async (value: string, claim = "sub") => {
  const accountOf = accountFromClaim(issuerAlias(ISSUER), claim);
  const issuer = { issuer: ISSUER, audience: AUDIENCE, accountOf, keys: async () => key.publicKey };
  return createJwtAuthenticator([issuer], clock).authenticate({ kind: "bearer", value });
};

const withClaims = async (change: JWTPayload, claim?: string) => {
  clock = createManualClock();
  now = Math.floor(millisOf(clock.now()) / 1000);
  return authenticate(await signed({ ...goodClaims(now), ...change }, key), claim);
};

const refused = async (result: Awaited<ReturnType<typeof authenticate>>) => {
  const error = result._unsafeUnwrapErr();
  expect(error.kind).toBe("unauthenticated");
  return error.message;
};

test("a valid token identifies its account", async () => {
  const principal = (await withClaims({ jti: "token-1" }))._unsafeUnwrap();
  expect(principal).toEqual({
    account: "id.example/tenant:user-1",
    credentialId: "jwt:token-1",
    credentialKind: "issuer_token",
    expiresAt: expect.any(BigInt),
  });
});

test("accepts one of several audiences", async () => {
  expect((await withClaims({ aud: ["other", AUDIENCE] })).isOk()).toBe(true);
});

describe("checks the claims", () => {
  const start = Math.floor(Date.UTC(2026, 0, 1) / 1000);
  const wrong: Readonly<Record<string, JWTPayload>> = {
    "another issuer": { iss: "https://id.example" },
    "a similar issuer": { iss: `${ISSUER}/` },
    "no issuer": { iss: undefined as never },
    "another audience": { aud: "someone-else" },
    "no audience": { aud: undefined as never },
    "expired a second ago": { exp: start - 1 },
    "expires now": { exp: start },
    "expired long ago": { exp: start - 3600 },
    "no expiry": { exp: undefined as never },
    "an expiry that is not a number": { exp: "2099" as never },
    "not valid for a minute yet": { nbf: start + 60 },
    "issued tomorrow, valid then": { nbf: start + 86_400 },
  };
  test.each(Object.entries(wrong))("%s: rejected", async (_what, change) => {
    await refused(await withClaims(change));
  });

  test("tolerates a clock that is a little ahead, but no expired token", async () => {
    expect((await withClaims({ nbf: start + 3 })).isOk()).toBe(true);
    expect(await refused(await withClaims({ exp: start }))).toMatch(/expired/);
  });

  test("a token expires while the platform runs", async () => {
    clock = createManualClock();
    now = Math.floor(millisOf(clock.now()) / 1000);
    const token = await signed(goodClaims(now), key);
    expect((await authenticate(token)).isOk()).toBe(true);
    await clock.advance(600_000);
    expect(await refused(await authenticate(token))).toMatch(/expired/);
  });
});

describe("checks the signature", () => {
  const tokens: Readonly<Record<string, () => Promise<string>>> = {
    'none, with alg "none" in the header': async () => forged({ alg: "none" }, goodClaims(now)),
    'none, with alg "NONE" in the header': async () => forged({ alg: "NONE", kid: "key" }, goodClaims(now)),
    "none, although the header names an algorithm": async () => forged({ alg: "ES256", kid: "key" }, goodClaims(now)),
    "the public key as a secret": () => signedWithPublicKey(goodClaims(now), key),
    "a different key with the same name": () => signed(goodClaims(now), strange),
    "of another token": async () => {
      const [head, , signature] = (await signed(goodClaims(now), key)).split(".");
      const [, claims] = (await signed({ ...goodClaims(now), sub: "admin" }, key)).split(".");
      return `${head}.${claims}.${signature}`;
    },
    "cut short": async () => (await signed(goodClaims(now), key)).slice(0, -10),
    "an unknown algorithm": async () => forged({ alg: "XX999", kid: "key" }, goodClaims(now), "eA"),
  };
  test.each(Object.entries(tokens))("%s: rejected", async (_what, make) => {
    expect((await withClaims({})).isOk()).toBe(true);
    await refused(await authenticate(await make()));
  });

  test.each(["", ".", "..", "...", "a.b.c", "psk_key", "eyJhbGciOiJub25lIn0", "{}", "\u0000", "x".repeat(100_000)])(
    "rejects %j",
    async (value) => {
      const message = await refused(await authenticate(value));
      if (value.length > 3) expect(message).not.toContain(value);
    },
  );
});
