/** The issuer's keys over HTTP: fetched once, fetched again after a change; a failure is not the token's fault. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { createJwtAuthenticator } from "../../../../adapters/jwt/accounts/jwt.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import { issuersOf } from "../../../../hosts/composition/accounts/issuers.ts";
import { resolveSettings } from "../../../../hosts/composition/settings.ts";
import {
  AUDIENCE,
  goodClaims,
  ISSUER,
  type IssuerKey,
  issuerKey,
  type KeyAnswer,
  type KeyServer,
  serveKeys,
  signed,
} from "../../../support/accounts/token-issuer.ts";

afterEach(() => void vi.useRealTimers());

const settingsFor = (jwks: string, issuer = ISSUER) =>
  resolveSettings({ dataDir: "/nowhere", jwtIssuer: issuer, jwtAudience: AUDIENCE, jwtJwks: jwks }, {});

const authenticatorFor = (jwks: string) => createJwtAuthenticator(issuersOf(settingsFor(jwks)), createSystemClock());

const tokenOf = (key: IssuerKey) => signed(goodClaims(Math.floor(Date.now() / 1000)), key);

const tryToken = async (authenticator: ReturnType<typeof authenticatorFor>, key: IssuerKey) => {
  const result = await authenticator.authenticate({ kind: "bearer", value: await tokenOf(key) });
  return result.match(
    ({ account }) => account as string,
    ({ kind }) => kind,
  );
};

const later = (seconds: number): void => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + seconds * 1000 });
};

test("fetches keys once for many tokens", async () => {
  const key = await issuerKey("one");
  await using server = await serveKeys({ keys: [key] });
  const authenticator = authenticatorFor(server.url.href);
  for (let time = 0; time < 5; time++) expect(await tryToken(authenticator, key)).toBe("id.example/tenant:user-1");
  expect(server.asked()).toBe(1);
});

test.each(["RS256", "PS384", "ES512", "EdDSA"])("an issuer may sign with %s", async (algorithm) => {
  const key = await issuerKey("one", algorithm);
  await using server = await serveKeys({ keys: [key] });
  expect(await tryToken(authenticatorFor(server.url.href), key)).toBe("id.example/tenant:user-1");
});

test("follows an issuer that changes its keys: accepts the new one, rejects the old one", async () => {
  const [old, fresh] = await Promise.all([issuerKey("old"), issuerKey("fresh")]);
  await using server = await serveKeys({ keys: [old] });
  const authenticator = authenticatorFor(server.url.href);
  expect(await tryToken(authenticator, old)).toBe("id.example/tenant:user-1");
  server.serve({ keys: [old, fresh] });
  later(60);
  expect(await tryToken(authenticator, fresh)).toBe("id.example/tenant:user-1");
  expect(await tryToken(authenticator, old)).toBe("id.example/tenant:user-1");
  server.serve({ keys: [fresh] });
  later(3600);
  expect(await tryToken(authenticator, old)).toBe("unauthenticated");
  expect(await tryToken(authenticator, fresh)).toBe("id.example/tenant:user-1");
});

test("an unknown key is an error of the token, not of the issuer", async () => {
  const [own, foreign] = await Promise.all([issuerKey("own"), issuerKey("foreign")]);
  await using server = await serveKeys({ keys: [own] });
  expect(await tryToken(authenticatorFor(server.url.href), foreign)).toBe("unauthenticated");
});

describe("an issuer whose keys cannot be fetched", () => {
  const answers: Readonly<Record<string, KeyAnswer>> = {
    "an error": { status: 500, body: "down" },
    "nothing there": { status: 404, body: "" },
    "a page": { status: 200, body: "<html>" },
    "JSON without keys": { status: 200, body: '{"error":"maintenance"}' },
    "a list": { status: 200, body: "[]" },
  };
  test.each(Object.entries(answers))("is unavailable until it returns: %s", async (_what, answer) => {
    const key = await issuerKey("one");
    await using server: KeyServer = await serveKeys(answer);
    const authenticator = authenticatorFor(server.url.href);
    expect(await tryToken(authenticator, key)).toBe("unavailable");
    server.serve({ keys: [key] });
    later(60);
    expect(await tryToken(authenticator, key)).toBe("id.example/tenant:user-1");
  });

  test("is unavailable if no server listens", async () => {
    const key = await issuerKey("one");
    const gone = await serveKeys({ keys: [] });
    await gone[Symbol.asyncDispose]();
    expect(await tryToken(authenticatorFor(gone.url.href), key)).toBe("unavailable");
  });
});

describe("finds keys by discovery if no URL is set", () => {
  const authenticator = (issuer: string) => {
    const settings = resolveSettings({ dataDir: "/nowhere", jwtIssuer: issuer, jwtAudience: AUDIENCE }, {});
    return createJwtAuthenticator(issuersOf(settings), createSystemClock());
  };
  const tokenFrom = async (issuer: string, key?: IssuerKey) => {
    const claims = { ...goodClaims(Math.floor(Date.now() / 1000)), iss: issuer };
    return { kind: "bearer", value: await signed(claims, key ?? (await issuerKey("one"))) } as const;
  };

  test("uses the URL of the keys in the document", async () => {
    const key = await issuerKey("one");
    await using server = await serveKeys({ keys: [] });
    // One document serves as both: it names the URL of the keys, and contains the keys.
    server.serve({ status: 200, body: JSON.stringify({ jwks_uri: server.url.href, keys: [key.jwk] }) });
    const issuer = server.url.origin;
    const result = await authenticator(issuer).authenticate(await tokenFrom(issuer, key));
    expect(result._unsafeUnwrap().account).toBe(`${server.url.host}:user-1`);
  });

  test.each([
    ["an error", 500, "down"],
    ["a page", 200, "<html>"],
    ["a document without the URL", 200, "{}"],
  ])("fails with `unavailable` if the response is %s", async (_what, status, body) => {
    await using server = await serveKeys({ status, body });
    const issuer = server.url.origin;
    const result = await authenticator(issuer).authenticate(await tokenFrom(issuer));
    expect(result._unsafeUnwrapErr().kind).toBe("unavailable");
  });
});
