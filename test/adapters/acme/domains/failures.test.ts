/**
 * How the ACME client reports failures of an authority. A server with prepared responses takes the authority's place.
 */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import type { StoredAccount } from "../../../../adapters/acme/domains/account.ts";
import { createAcmeAuthority } from "../../../../adapters/acme/domains/authority.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { okAsync } from "../../../../core/result.ts";
import { expectError } from "../../../contracts/support.ts";
import { recorder } from "../../../support/providers/memory-platform.ts";

type Respond = (res: ServerResponse) => void;

const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Respond =>
  (res) => {
    res.writeHead(status, { "replay-nonce": "nonce", ...headers }).end(JSON.stringify(body));
  };

const problem = (type: string, detail: string) => ({ type: `urn:ietf:params:acme:error:${type}`, detail });

const names = ["newNonce", "newAccount", "newOrder", "keyChange"];

/** Orders a certificate from an authority that returns these responses by path. Returns the order's failure. */
const failureWith = async (responses: Readonly<Record<string, Respond>>, signal?: AbortSignal) => {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    const path = (req.url ?? "").slice(1);
    asked.push(path);
    const { port } = server.address() as AddressInfo;
    const directory = Object.fromEntries(names.map((name) => [name, `http://127.0.0.1:${port}/${name}`]));
    const respond = responses[path] ?? (path === "dir" ? json(200, directory) : json(200, {}));
    respond(res);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const writes: StoredAccount[] = [];
  const authority = createAcmeAuthority(
    { directory: `http://127.0.0.1:${(server.address() as AddressInfo).port}/dir`, acceptTerms: true },
    {
      clock: createManualClock("2026-03-01T12:00:00Z"),
      logger: recorder().logger,
      accounts: {
        read: () => okAsync(writes.at(-1) ?? null),
        write: (account) => {
          writes.push(account);
          return okAsync(undefined);
        },
      },
    },
  );
  const failure = await expectError(
    authority.order(
      {
        host: "app.example.com",
        key: generateKeyPairSync("ec", { namedCurve: "P-256" })
          .privateKey.export({ type: "pkcs8", format: "pem" })
          .toString(),
        responder: { types: ["http-01"], publish: () => okAsync(undefined), withdraw: () => okAsync(undefined) },
        started: () => okAsync(undefined),
      },
      signal === undefined ? {} : { signal },
    ),
  );
  await authority.close();
  server.closeAllConnections();
  server.close();
  return { failure, asked };
};

const registered = json(201, {}, { location: "http://127.0.0.1/account/1" });

test("a rate limit fails with order_failed and the authority's delay", async () => {
  const limited = problem("rateLimited", "too many certificates (5) already issued");
  for (const [header, retryAfterMs] of [
    ["120", 120_000],
    ["Sun, 01 Mar 2026 12:01:00 GMT", 60_000],
    ["soon", 3_600_000],
  ] as const) {
    const { failure } = await failureWith({
      newAccount: registered,
      newOrder: json(429, limited, { "retry-after": header }),
    });
    expect(failure).toEqual({
      kind: "order_failed",
      message: "The authority limits the number of certificates: too many certificates (5) already issued",
      retryAfterMs,
      othersMayIssue: true,
    });
  }
});

test("an internal problem fails with unavailable and the authority's delay", async () => {
  const { failure } = await failureWith({
    newAccount: registered,
    newOrder: json(503, problem("rateLimited", "Service busy"), { "retry-after": "90" }),
  });
  expect(failure).toMatchObject({ kind: "unavailable", retryAfterSeconds: 90 });
  const { failure: internal } = await failureWith({
    newAccount: registered,
    newOrder: json(400, problem("serverInternal", "the database is down")),
  });
  expect(internal).toMatchObject({ kind: "unavailable", retryAfterSeconds: 60, cause: "the database is down" });
});

test.each([
  ["caa", "A CAA record forbids this authority from issuing the certificate: the words"],
  ["dns", "The authority could not resolve the host: the words"],
  ["connection", "The authority could not connect to the host: the words"],
  ["unheardOf", "The authority refused the order: the words"],
])("the problem %s becomes a sentence on one line", async (type, message) => {
  const document = { ...problem(type, "the\n\u001b words"), subproblems: [] };
  const { failure } = await failureWith({ newAccount: registered, newOrder: json(403, document) });
  expect(failure).toEqual({ kind: "order_failed", message, retryAfterMs: null, othersMayIssue: type === "caa" });
});

test("a rejection without a problem document states its status", async () => {
  const { failure } = await failureWith({
    newAccount: registered,
    newOrder: (res) => res.writeHead(418).end("<html>"),
  });
  expect(failure).toMatchObject({ kind: "order_failed", message: "The authority refused the order: HTTP 418" });
});

test("the client stops retrying if the authority rejects every nonce", async () => {
  const { failure, asked } = await failureWith({ newAccount: json(400, problem("badNonce", "unknown nonce")) });
  expect(failure).toMatchObject({ kind: "unavailable", message: expect.stringContaining("rejects its own nonces") });
  expect(asked.filter((path) => path === "newAccount")).toHaveLength(10);
  expect(asked.filter((path) => path === "newNonce")).toHaveLength(1);
});

test("an unusable certificate fails with order_failed, so the client does not continue its order", async () => {
  const valid: Respond = (res) => {
    const certificate = `http://127.0.0.1:${res.req.socket.localPort}/certificate`;
    const identifiers = [{ type: "dns", value: "app.example.com" }];
    const order = { status: "valid", identifiers, authorizations: [], finalize: certificate, certificate };
    json(201, order, { location: "http://127.0.0.1/order/1" })(res);
  };
  const { failure } = await failureWith({
    newAccount: registered,
    newOrder: valid,
    certificate: json(200, "no chain"),
  });
  expect(failure).toEqual({
    kind: "order_failed",
    message: "The authority issued a certificate that cannot be used: It is not a chain in PEM.",
    retryAfterMs: null,
    othersMayIssue: false,
  });
});

test.each<[string, Readonly<Record<string, Respond>>]>([
  ["a body that is too large", { dir: (res) => res.end(Buffer.alloc(2 * 1024 * 1024, 32)) }],
  ["a directory that is not JSON", { dir: (res) => res.end("<html>") }],
  ["a directory without URLs", { dir: json(200, { newNonce: "/nonce" }) }],
  ["a missing directory", { dir: json(404, {}) }],
  [
    "a directory with a URL that does not use TLS",
    { dir: json(200, Object.fromEntries(names.map((name) => [name, "http://ca.example.com/"]))) },
  ],
  ["a closed connection", { newAccount: (res) => res.destroy() }],
  ["an account without a URL", { newAccount: json(201, {}) }],
  ["no nonce", { newNonce: (res) => res.end() }],
  ["an empty order", { newAccount: registered, newOrder: json(201, {}, { location: "http://127.0.0.1/1" }) }],
])("%s fails with unavailable", async (_, responses) => {
  expect((await failureWith(responses)).failure.kind).toBe("unavailable");
});

test("an aborted order fails with unavailable while the authority is silent", async () => {
  const aborted = new AbortController();
  const { failure } = await failureWith({ dir: () => aborted.abort() }, aborted.signal);
  expect(failure.kind).toBe("unavailable");
});

test.each(["http://ca.example.com/dir", "ca.example.com", "file:///dir"])("rejects the directory %s", (directory) => {
  const deps = { clock: createManualClock(), logger: recorder().logger, accounts: {} as never };
  expect(() => createAcmeAuthority({ directory, acceptTerms: true }, deps)).toThrow("is not an HTTPS URL");
});

test("a stop aborts the registration of the account", async () => {
  const stopping = new AbortController();
  const { failure, asked } = await failureWith({ newAccount: () => stopping.abort() }, stopping.signal);
  expect(failure).toMatchObject({ kind: "unavailable", cause: { name: "AbortError" } });
  expect(asked.at(-1)).toBe("newAccount");
});
