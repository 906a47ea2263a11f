/** The ACME client with Pebble: the contract of an authority, and the features that only ACME has. */
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StoredAccount } from "../../../../adapters/acme/domains/account.ts";
import type { AcmeAuthority, AcmeSettings } from "../../../../adapters/acme/domains/authority.ts";
import { createAcmeAuthority } from "../../../../adapters/acme/domains/authority.ts";
import { directoryReader } from "../../../../adapters/acme/domains/directory.ts";
import { createAcmeHttp } from "../../../../adapters/acme/domains/http.ts";
import { certificateId } from "../../../../adapters/acme/domains/renewal-information.ts";
import { createSignedRequests } from "../../../../adapters/acme/domains/signed-requests.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import { parseInstant } from "../../../../core/domain/wire/instant.ts";
import type { CertificateRequest, ChallengeResponder } from "../../../../core/ports/certificate-authority.ts";
import { okAsync } from "../../../../core/result.ts";
import { certificateAuthorityCases } from "../../../contracts/index.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { type PebbleSettings, startPebble } from "../../../support/domains/pebble.ts";
import { startResponder } from "../../../support/domains/responder.ts";
import { recorder } from "../../../support/providers/memory-platform.ts";
import { has, needs } from "../../../support/vitest/machine.ts";

const clock = createSystemClock();

/** An account in memory. */
const accountStore = () => {
  const writes: StoredAccount[] = [];
  return {
    writes,
    read: () => okAsync(writes.at(-1) ?? null),
    write: (account: StoredAccount) => {
      writes.push(account);
      return okAsync(undefined);
    },
  };
};

let hosts = 0;
const newHost = () => `host-${++hosts}.acme.example`;

const open = async (types: ChallengeResponder["types"] = ["http-01"], settings: PebbleSettings = {}) => {
  const responder = await startResponder(types);
  const pebble = await startPebble(responder, settings);
  const opened: AcmeAuthority[] = [];
  const accounts = accountStore();
  return {
    responder,
    pebble,
    accounts,
    authority: (over: Partial<AcmeSettings> = {}, store = accounts): AcmeAuthority => {
      const authority = createAcmeAuthority(
        { directory: pebble.directory, ca: pebble.ca, acceptTerms: true, email: "admin@acme.example", ...over },
        { accounts: store, clock, logger: recorder().logger },
      );
      opened.push(authority);
      return authority;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(opened.map((one) => one.close()));
      await pebble[Symbol.asyncDispose]();
      await responder[Symbol.asyncDispose]();
    },
  };
};

const newKey = () =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

const requestFor = (responder: ChallengeResponder, over: Partial<CertificateRequest> = {}): CertificateRequest => ({
  host: newHost(),
  key: newKey(),
  responder,
  started: () => okAsync(undefined),
  ...over,
});

/** Sends a signed request to a URL, or to a resource of the directory. An empty payload reads the resource. */
const postSigned = async (
  { pebble, accounts }: Awaited<ReturnType<typeof open>>,
  resource: string,
  payload: object | "" = "",
): Promise<string> => {
  const http = createAcmeHttp("pebble", pebble.ca);
  const resources = JSON.parse((await expectOk(http.send("GET", pebble.directory))).text);
  const deps = { http, clock, directory: directoryReader("pebble", pebble.directory, { http, clock }) };
  const { key, url: account } = accounts.writes.at(-1) as StoredAccount;
  const signer = { key: createPrivateKey(key), url: account };
  const requests = createSignedRequests("pebble", deps);
  const { text } = await expectOk(requests.post(resources[resource] ?? resource, payload, signer));
  await http.close();
  return text;
};

for (const type of ["http-01", "tls-alpn-01"] as const)
  describe(`with ${type} and rejected nonces`, () => {
    let opened: Awaited<ReturnType<typeof open>> | undefined;
    beforeAll(async () => {
      if (has("pebble")) opened = await open([type], { badNonces: 30, delaySeconds: 1 });
    });
    afterAll(() => opened?.[Symbol.asyncDispose]());
    for (const { group, name, run } of certificateAuthorityCases)
      test(`${group}: ${name}`, async (context) => {
        needs(context, "pebble");
        const { responder, authority } = opened as NonNullable<typeof opened>;
        await run({ responder, authority: authority(), host: newHost });
      });
  });

test("registers one account for concurrent orders", async (context) => {
  needs(context, "pebble");
  await using first = await open();
  const authority = first.authority();
  const orders = await Promise.all(Array.from({ length: 10 }, () => authority.order(requestFor(first.responder))));
  expect(orders.every((one) => one.isOk())).toBe(true);
  // The client stores the key before it registers the account, and the account's URL afterwards.
  expect(first.accounts.writes.map(({ url }) => url === null)).toEqual([true, false]);
});

test("registers the same key again after the authority lost its accounts, and drops the old order", async (context) => {
  needs(context, "pebble");
  await using first = await open();
  await expectOk(first.authority().order(requestFor(first.responder)));
  const [, known] = first.accounts.writes as [StoredAccount, StoredAccount];
  await using second = await open();
  const url = new URL(second.pebble.directory);
  const lost = { ...known, url: `${url.origin}/my-account/feedbeef` };
  await expectOk(second.accounts.write(lost));
  const order = `${url.origin}/my-order/unknown`;
  await expectOk(second.authority().order(requestFor(second.responder, { order })));
  expect(second.accounts.writes.at(-1)).toEqual({ ...lost, url: expect.not.stringContaining("feedbeef") });
});

test("registers with an external account, and reports that the settings lack a required one", async (context) => {
  needs(context, "pebble");
  const hmacKey = Buffer.alloc(48, 7).toString("base64url");
  const config = { externalAccountBindingRequired: true, externalAccountMACKeys: { "kid-1": hmacKey } };
  await using opened = await open(["http-01"], { config });
  const request = () => requestFor(opened.responder);
  const without = await expectError(opened.authority({}, accountStore()).order(request()));
  expect(without).toMatchObject({ kind: "order_failed", message: expect.stringContaining("external account") });
  const wrong = opened.authority(
    { externalAccount: { keyId: "kid-1", hmacKey: Buffer.alloc(48, 8).toString("base64url") } },
    accountStore(),
  );
  expect((await expectError(wrong.order(request()))).kind).toBe("order_failed");
  await expectOk(opened.authority({ externalAccount: { keyId: "kid-1", hmacKey } }).order(request()));
});

test("does not register without agreement to the terms", async (context) => {
  needs(context, "pebble");
  await using opened = await open();
  const failure = await expectError(opened.authority({ acceptTerms: false }).order(requestFor(opened.responder)));
  expect(failure).toMatchObject({ kind: "order_failed", message: expect.stringMatching(/terms: \S+/) });
});

test("orders a profile, and names the authority's profiles if it does not offer the requested one", async (context) => {
  needs(context, "pebble");
  const profiles = {
    default: { description: "The default", validityPeriod: 7_776_000 },
    shortlived: { description: "Six days", validityPeriod: 518_400 },
  };
  await using opened = await open(["http-01"], { config: { profiles } });
  const chain = await expectOk(opened.authority({ profile: "shortlived" }).order(requestFor(opened.responder)));
  const { validFromDate, validToDate } = new X509Certificate(chain);
  expect((validToDate.getTime() - validFromDate.getTime()) / 1000).toBeCloseTo(518_400, -2);
  const failure = await expectError(opened.authority({ profile: "other" }).order(requestFor(opened.responder)));
  expect(failure.message).toMatch(/no profile 'other'.*shortlived/);
});

test("follows renewal information, and names the replaced certificate", async (context) => {
  needs(context, "pebble");
  await using opened = await open();
  const authority = opened.authority();
  const request = requestFor(opened.responder);
  const first = await expectOk(authority.order(request));
  const window = { start: "2026-01-01T00:00:00Z", end: "2026-01-02T00:00:00Z" };
  const [certificate] = first.match(/-----BEGIN[\s\S]+?END CERTIFICATE-----/) as [string];
  const set = (response: unknown) =>
    opened.pebble.manage("/set-renewal-info/", { Certificate: certificate, ARIResponse: JSON.stringify(response) });
  await set({ suggestedWindow: window });
  expect(await expectOk(authority.advice(first))).toEqual({
    window: { start: parseInstant(window.start), end: parseInstant(window.end) },
    askAgainAt: expect.any(BigInt),
  });
  await set({ suggestedWindow: { start: "soon" } });
  expect((await expectError(authority.advice(first))).kind).toBe("unavailable");
  const renewal = requestFor(opened.responder, { host: request.host, replaces: first });
  const orders: string[] = [];
  const renewed = await expectOk(authority.order({ ...renewal, started: (order) => okAsync(void orders.push(order)) }));
  expect(renewed).not.toBe(first);
  expect(JSON.parse(await postSigned(opened, orders[0] as string))).toMatchObject({ replaces: certificateId(first) });
  // Pebble rejects a second replacement, so the client orders without it.
  await expectOk(authority.order(requestFor(opened.responder, { host: request.host, replaces: first })));
});

test("advises the immediate renewal of a revoked certificate", async (context) => {
  needs(context, "pebble");
  await using opened = await open();
  const authority = opened.authority();
  const chain = await expectOk(authority.order(requestFor(opened.responder)));
  const end = async () => (await expectOk(authority.advice(chain)))?.window.end;
  expect(await end()).toBeGreaterThan(clock.now());
  await postSigned(opened, "revokeCert", { certificate: new X509Certificate(chain).raw.toString("base64url") });
  expect(await end()).toBeLessThanOrEqual(clock.now());
});

test("replaces the account's key, even after an interruption hid the outcome", async (context) => {
  needs(context, "pebble");
  await using opened = await open();
  const { accounts, responder } = opened;
  const authority = opened.authority();
  await expectOk(authority.order(requestFor(responder)));
  const before = accounts.writes.at(-1) as StoredAccount;
  await expectOk(authority.changeKey());
  const after = accounts.writes.at(-1) as StoredAccount;
  expect(after).toEqual({ ...before, key: expect.not.stringContaining(before.key) });
  await expectOk(authority.order(requestFor(responder)));

  // The authority has the new key, and the store still has both.
  const interrupted = accountStore();
  await expectOk(interrupted.write({ ...before, nextKey: after.key }));
  await expectOk(opened.authority({}, interrupted).order(requestFor(responder)));
  expect(interrupted.writes.at(-1)).toEqual(after);

  // The change did not reach the authority.
  const unsent = accountStore();
  await expectOk(unsent.write({ ...after, nextKey: newKey() }));
  await expectOk(opened.authority({}, unsent).order(requestFor(responder)));
  expect(unsent.writes.at(-1)).toEqual(after);
});

test("sends a changed e-mail address once, after an outage too, and to an account of an earlier version", async (context) => {
  needs(context, "pebble");
  await using opened = await open();
  const { accounts, responder } = opened;
  const contactOf = async () => JSON.parse(await postSigned(opened, accounts.writes.at(-1)?.url as string)).contact;
  const unregistered = opened.authority({}, accountStore());
  await expectOk(unregistered.updateEmail());
  await expectOk(opened.authority().order(requestFor(responder)));
  const registered = accounts.writes.at(-1) as StoredAccount;
  expect(registered.email).toBe("admin@acme.example");
  const writes = accounts.writes.length;
  await expectOk(opened.authority().updateEmail());
  expect(accounts.writes).toHaveLength(writes);
  const changed = opened.authority({ email: "ops@acme.example" });
  await expectOk(changed.updateEmail());
  expect(await contactOf()).toEqual(["mailto:ops@acme.example"]);
  expect(accounts.writes.at(-1)).toEqual({ ...registered, email: "ops@acme.example" });
  await expectOk(changed.updateEmail());
  expect(accounts.writes).toHaveLength(writes + 1);
  await expectOk(changed.order(requestFor(responder)));
  const { email: _, ...earlier } = registered;
  await expectOk(accounts.write(earlier));
  await expectOk(opened.authority().updateEmail());
  expect(await contactOf()).toEqual(["mailto:admin@acme.example"]);
  const refused = await expectError(opened.authority({ email: "not-an-address" }).updateEmail());
  expect(refused).toMatchObject({ kind: "order_failed", retryAfterMs: null });
  await opened.pebble.stop();
  expect((await expectError(changed.updateEmail())).kind).toBe("unavailable");
  expect(accounts.writes.at(-1)).toEqual(registered);
});

test("registers again, with the changed e-mail address, if the authority lost the account", async (context) => {
  needs(context, "pebble");
  await using first = await open();
  await expectOk(first.authority().order(requestFor(first.responder)));
  await using second = await open();
  const { origin } = new URL(second.pebble.directory);
  const known = first.accounts.writes.at(-1) as StoredAccount;
  await expectOk(second.accounts.write({ ...known, url: `${origin}/my-account/feedbeef` }));
  await expectOk(second.authority({ email: "ops@acme.example" }).updateEmail());
  const url = second.accounts.writes.at(-1)?.url as string;
  expect(JSON.parse(await postSigned(second, url)).contact).toEqual(["mailto:ops@acme.example"]);
  expect(second.accounts.writes.at(-1)).toMatchObject({ key: known.key, email: "ops@acme.example" });
});

test("another client continues an interrupted order", async (context) => {
  needs(context, "pebble");
  await using opened = await open(["http-01"], { delaySeconds: 1 });
  const orders: string[] = [];
  const request = requestFor(opened.responder, { started: (order) => okAsync(void orders.push(order)) });
  const aborted = new AbortController();
  const stopping = {
    ...opened.responder,
    // The authority reads the challenge after the client has stopped.
    withdraw: () => okAsync(undefined),
    publish: (challenge: Parameters<ChallengeResponder["publish"]>[0]) =>
      opened.responder.publish(challenge).andTee(() => setImmediate(() => aborted.abort())),
  };
  const { kind } = await expectError(
    opened.authority().order({ ...request, responder: stopping }, { signal: aborted.signal }),
  );
  expect(kind).toBe("unavailable");
  const [order] = orders;
  const chain = await expectOk(opened.authority().order({ ...request, order }));
  // A finished order returns the same certificate.
  expect(await expectOk(opened.authority().order({ ...request, order }))).toBe(chain);
  expect(orders).toHaveLength(1);
});

test("reports the authority's message about a failed validation", async (context) => {
  needs(context, "pebble");
  await using opened = await open(["http-01", "tls-alpn-01"], {
    config: { domainBlocklist: ["blocked.acme.example"] },
  });
  const deaf = { ...opened.responder, publish: () => okAsync(undefined) };
  const failure = await expectError(opened.authority().order(requestFor(deaf)));
  expect(failure).toMatchObject({ kind: "order_failed", message: expect.stringMatching(/validate the host.*404/) });
  const blocked = requestFor(opened.responder, { host: "blocked.acme.example" });
  expect((await expectError(opened.authority().order(blocked))).message).toContain("does not issue certificates for");
});

test("fails with unavailable while the authority is down, or if its TLS certificate is not trusted", async (context) => {
  needs(context, "pebble");
  await using opened = await open();
  const other = opened.authority({ ca: undefined }, accountStore());
  expect((await expectError(other.order(requestFor(opened.responder)))).kind).toBe("unavailable");
  const authority = opened.authority();
  const chain = await expectOk(authority.order(requestFor(opened.responder)));
  await opened.pebble.stop();
  expect((await expectError(authority.order(requestFor(opened.responder)))).kind).toBe("unavailable");
  expect((await expectError(authority.advice(chain))).kind).toBe("unavailable");
});
