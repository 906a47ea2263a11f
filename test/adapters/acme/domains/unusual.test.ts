/**
 * Responses of an authority that RFC 8555 and RFC 9773 permit, but that Let's Encrypt rarely sends. A server with a list
 * of responses for each path takes the authority's place.
 */
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import type { StoredAccount } from "../../../../adapters/acme/domains/account.ts";
import { type AcmeSettings, createAcmeAuthority } from "../../../../adapters/acme/domains/authority.ts";
import { signCertificate } from "../../../../adapters/shared/domains/x509.ts";
import { type Instant, instantOfMillis, millisOf, plusMillis } from "../../../../core/domain/wire/instant.ts";
import type { CertificateRequest } from "../../../../core/ports/certificate-authority.ts";
import { okAsync } from "../../../../core/result.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { recorder } from "../../../support/providers/memory-platform.ts";

/** `at` returns the URL of a path. */
type Respond = (res: ServerResponse, at: (path: string) => string) => void;

type Headers = Readonly<Record<string, string>>;

const json =
  (status: number, body: unknown, headers: Headers = {}): Respond =>
  (res) => {
    res.writeHead(status, { "replay-nonce": "nonce", ...headers }).end(JSON.stringify(body));
  };

const problem = (type: string, status = 400, headers: Headers = {}, more: object = {}): Respond =>
  json(status, { type: `urn:ietf:params:acme:error:${type}`, detail: "the words", ...more }, headers);

const HOST = "app.example.com";
const DAY_MS = 86_400_000;

const order =
  (status: string, more: object = {}, headers: Headers = {}): Respond =>
  (res, at) =>
    json(
      200,
      {
        status,
        identifiers: [{ type: "dns", value: HOST }],
        authorizations: [at("authorization")],
        finalize: at("finalize"),
        certificate: at("certificate"),
        ...more,
      },
      { location: at("order"), ...headers },
    )(res, at);

const authorization =
  (status: string, challenge: object = {}): Respond =>
  (res, at) =>
    json(200, {
      status,
      challenges: [{ type: "http-01", url: at("challenge"), status: "pending", token: "token", ...challenge }],
    })(res, at);

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const START = "2026-03-01T12:00:00Z";
const now = instantOfMillis(Date.parse(START));
const chainFrom = (from: Instant): string =>
  signCertificate({
    issuer: "Root",
    issuerKey: privateKey,
    publicKey: createPublicKey(privateKey),
    hosts: [HOST],
    from,
    until: plusMillis(from, 6 * DAY_MS),
  });
const chain = chainFrom(plusMillis(now, -3_600_000));

const names = ["newNonce", "newAccount", "newOrder", "keyChange"];

const usual: Readonly<Record<string, readonly Respond[]>> = {
  dir: [(res, at) => json(200, Object.fromEntries(names.map((name) => [name, at(name)])))(res, at)],
  newAccount: [(res, at) => json(201, {}, { location: at("account") })(res, at)],
  newOrder: [order("pending")],
  authorization: [authorization("pending"), authorization("valid")],
  challenge: [json(200, {})],
  order: [order("ready"), order("valid")],
  finalize: [order("processing")],
  certificate: [(res) => res.writeHead(200, { "replay-nonce": "nonce" }).end(chain)],
};

/** Starts an authority. Each request gets the next response of its path, and later ones the last response. */
const start = async (over: Readonly<Record<string, readonly Respond[]>> = {}, settings: Partial<AcmeSettings> = {}) => {
  const asked: string[] = [];
  const left = new Map(Object.entries({ ...usual, ...over }).map(([path, list]) => [path, [...list]]));
  const server = createServer((req, res) => {
    const path = (req.url ?? "").slice(1);
    asked.push(path);
    const list = left.get(path) ?? [json(200, {})];
    const respond = list.length > 1 ? (list.shift() as Respond) : (list[0] as Respond);
    respond(res, at);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const at = (path: string) => `http://127.0.0.1:${port}/${path}`;
  const accounts: StoredAccount[] = [];
  const started: string[] = [];
  const clock = createLeapingClock(START);
  const authority = createAcmeAuthority(
    { directory: at("dir"), acceptTerms: true, ...settings },
    {
      clock,
      logger: recorder().logger,
      accounts: {
        read: () => okAsync(accounts.at(-1) ?? null),
        write: (account) => {
          accounts.push(account);
          return okAsync(undefined);
        },
      },
    },
  );
  return {
    at,
    asked,
    started,
    clock,
    authority,
    order: (more: Partial<CertificateRequest> = {}) =>
      authority.order({
        host: HOST,
        key,
        responder: { types: ["http-01"], publish: () => okAsync(undefined), withdraw: () => okAsync(undefined) },
        started: (url) => {
          started.push(url);
          return okAsync(undefined);
        },
        ...more,
      }),
    [Symbol.asyncDispose]: async () => {
      await authority.close();
      server.closeAllConnections();
      server.close();
    },
  };
};

test.each<[string, Readonly<Record<string, readonly Respond[]>>]>([
  ["an order that is ready immediately", { newOrder: [order("ready")], order: [order("valid")] }],
  ["an order that is valid immediately", { newOrder: [order("valid")] }],
  ["an authorization that is valid immediately", { authorization: [authorization("valid")] }],
  ["an order that becomes ready late", { order: [order("pending"), order("pending"), order("ready"), order("valid")] }],
  ["rejected nonces", { newOrder: [problem("badNonce"), problem("badNonce"), problem("badNonce"), order("pending")] }],
  ["an account that the authority lost", { newOrder: [problem("accountDoesNotExist"), order("pending")] }],
  [
    "alternate chains",
    {
      certificate: [
        (res, at) =>
          res
            .writeHead(200, {
              "replay-nonce": "nonce",
              link: [`<${at("dir")}>;rel="index"`, `<${at("b")}>;rel="alternate"`],
            })
            .end(chain),
      ],
    },
  ],
  [
    "a finalization before the order is ready on each server",
    {
      finalize: [problem("orderNotReady", 403), order("processing")],
      order: [order("ready"), order("ready"), order("valid")],
    },
  ],
  [
    "an error without a usable description",
    { authorization: [authorization("pending", { error: { subproblems: null } }), authorization("valid")] },
  ],
])("gets a certificate in spite of %s", async (_, responses) => {
  await using subject = await start(responses);
  expect(await expectOk(subject.order())).toBe(chain);
  expect(subject.started).toEqual([subject.at("order")]);
});

test("polls a processing order at the HTTP date that the authority names", async () => {
  const retry = { "retry-after": "Sun, 01 Mar 2026 12:05:00 GMT" };
  await using subject = await start({ order: [order("ready"), order("processing", {}, retry), order("valid")] });
  await expectOk(subject.order());
  expect(millisOf(subject.clock.now())).toBe(Date.parse("2026-03-01T12:05:00Z"));
  expect(subject.asked.filter((path) => path === "order")).toHaveLength(3);
});

test.each<[string, string, Respond]>([
  ["the authorization", "authorization", problem("rateLimited", 429, { "retry-after": "120" })],
  ["the challenge", "challenge", problem("rateLimited", 429, { "retry-after": "120" })],
  ["the finalization", "finalize", problem("rateLimited", 429, { "retry-after": "120" })],
  ["the order", "order", (res) => res.writeHead(429, { "retry-after": "120" }).end("<html>slow down</html>")],
  ["the certificate", "certificate", problem("rateLimited", 429, { "retry-after": "120" })],
])("a rate limit for %s does not end the order", async (_, path, limited) => {
  await using subject = await start({ [path]: [limited] });
  const failure = await expectError(subject.order());
  expect(failure).toMatchObject({ kind: "unavailable", retryAfterSeconds: 120 });
});

test("a rate limit without a problem document may be the authority's own", async () => {
  await using subject = await start({ newOrder: [(res) => res.writeHead(429).end("<html>slow down</html>")] });
  expect(await expectError(subject.order())).toEqual({
    kind: "order_failed",
    message: "The authority limits the number of certificates: HTTP 429",
    retryAfterMs: 3_600_000,
    othersMayIssue: true,
  });
  const broken = { subproblems: null, instance: 7 };
  await using other = await start({ newOrder: [problem("rateLimited", 403, {}, broken)] });
  expect(await expectError(other.order())).toMatchObject({ retryAfterMs: 3_600_000 });
});

test.each([
  [["caa"], true],
  [["rejectedIdentifier", "rejectedIdentifier"], true],
  [["dns"], false],
  [["caa", "dns"], false],
])("the compound of %s lets another authority issue: %s", async (types, othersMayIssue) => {
  const subproblems = types.map((type) => ({ type: `urn:ietf:params:acme:error:${type}`, detail: "more" }));
  await using subject = await start({ newOrder: [problem("compound", 400, {}, { subproblems })] });
  expect(await expectError(subject.order())).toMatchObject({ kind: "order_failed", othersMayIssue });
});

test.each<[string, Readonly<Record<string, unknown>>, Partial<AcmeSettings>]>([
  ["an external account", { externalAccountRequired: true }, {}],
  ["agreement to its terms", { termsOfService: "https://ca.example.com/terms" }, { acceptTerms: false }],
  ["another profile", { profiles: { classic: "the usual one" } }, { profile: "shortlived" }],
])("an authority that requires %s lets another authority issue", async (_, meta, settings) => {
  const dir: Respond = (res, at) =>
    json(200, { ...Object.fromEntries(names.map((name) => [name, at(name)])), meta })(res, at);
  await using subject = await start({ dir: [dir] }, settings);
  expect(await expectError(subject.order())).toMatchObject({ kind: "order_failed", othersMayIssue: true });
});

test("an e-mail address that the authority rejects lets another authority issue", async () => {
  await using subject = await start({ newAccount: [problem("invalidContact")] });
  expect(await expectError(subject.order())).toMatchObject({ kind: "order_failed", othersMayIssue: true });
});

test("replaces an earlier order that failed with an error of the wrong type", async () => {
  await using subject = await start({
    order: [order("invalid", { error: { type: 7 } }), order("ready"), order("valid")],
  });
  expect(await expectOk(subject.order({ order: subject.at("order") }))).toBe(chain);
});

test("an action that the authority requires is named with its page", async () => {
  const instance = "https://ca.example.com/terms?account=1";
  await using subject = await start({ newOrder: [problem("userActionRequired", 403, {}, { instance })] });
  expect((await expectError(subject.order())).message).toContain(instance);
});

test("rejects a certificate that becomes valid in more than a day", async () => {
  const from =
    (millis: number): Respond =>
    (res) =>
      res.writeHead(200, { "replay-nonce": "nonce" }).end(chainFrom(plusMillis(now, millis)));
  await using late = await start({ certificate: [from(2 * DAY_MS)] });
  expect(await expectError(late.order())).toMatchObject({
    kind: "order_failed",
    message: expect.stringContaining("clock"),
  });
  await using soon = await start({ certificate: [from(DAY_MS / 2)] });
  await expectOk(soon.order());
});

test.each<[string, Respond]>([
  ["alreadyReplaced", problem("alreadyReplaced", 409)],
  ["an unknown certificate", problem("malformed", 404)],
])("orders without the earlier certificate after %s", async (_, refusal) => {
  const dir: Respond = (res, at) =>
    json(200, Object.fromEntries([...names, "renewalInfo"].map((name) => [name, at(name)])))(res, at);
  await using subject = await start({ dir: [dir], newOrder: [refusal, order("pending")] });
  expect(await expectOk(subject.order({ replaces: chain }))).toBe(chain);
});
