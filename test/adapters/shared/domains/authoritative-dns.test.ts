/** The resolver that asks authoritative servers, on DNS servers of the test. */
import { promises } from "node:dns";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createAuthoritativeDns, isPrivateServer } from "../../../../adapters/shared/domains/authoritative-dns.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { instantOfSeconds } from "../../../../core/domain/wire/instant.ts";
import type { RateLimited, Unavailable } from "../../../../core/errors.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { contractTests, type DnsSubject, dnsResolverCases, freshNames } from "../../../contracts/index.ts";
import { type ServedRecord, startDnsServer } from "../../../support/domains/dns-server.ts";

const NAME = "app.example.com";
const [RECURSIVE, AUTHORITATIVE] = ["127.0.0.1", "127.0.0.2"];

/** The recursive resolver knows only the servers of example.com. */
const delegation = (zone: string): readonly ServedRecord[] => [
  { name: zone, type: "NS", value: `ns.${zone}` },
  { name: `ns.${zone}`, type: "A", value: AUTHORITATIVE },
];

/** The limits of lookups must not depend on the speed of the machine. */
const clock: Clock = { ...createSystemClock(), now: () => instantOfSeconds(0) };

/** Starts a recursive resolver and an authoritative server, and a resolver that uses them. */
const start = async (permitsPrivate = true, timeoutMs = 100) => {
  const recursive = await startDnsServer(RECURSIVE);
  const authoritative = await startDnsServer(AUTHORITATIVE);
  recursive.records.push(...delegation("example.com"));
  const server = `${RECURSIVE}:${recursive.port}`;
  const dns = createAuthoritativeDns({ server, port: authoritative.port, permitsPrivate, timeoutMs, clock });
  const close = async () => {
    await recursive[Symbol.asyncDispose]();
    await authoritative[Symbol.asyncDispose]();
  };
  return { recursive, authoritative, dns, close };
};

let { recursive, authoritative, dns, close } = {} as Awaited<ReturnType<typeof start>>;

beforeEach(async () => {
  ({ recursive, authoritative, dns, close } = await start());
});
afterEach(() => close());

const valuesOf = async (name: string, type: "A" | "AAAA" | "TXT" | "CAA") =>
  (await dns.resolve(name, type))._unsafeUnwrap();

const failureOf = async (name: string) => (await dns.resolve(name, "A"))._unsafeUnwrapErr().message;

const { name: freshName } = freshNames("zone");
contractTests("DNS at authoritative servers", dnsResolverCases, async () => {
  const servers = await start();
  const subject: DnsSubject = {
    dns: servers.dns,
    publish: async (...records) =>
      void servers.authoritative.records.push(...records.map((record) => ({ ...record, type: record.type as "A" }))),
    silence: async (name) => {
      servers.authoritative.behavior = (asked) => (asked === name ? "silent" : "normal");
    },
    zone: () => `${freshName()}.example.com`,
  };
  return { subject, close: servers.close };
});

test("ignores the cache of the recursive resolver", async () => {
  recursive.records.push({ name: NAME, type: "A", value: "192.0.2.1" });
  authoritative.records.push({ name: NAME, type: "A", value: "192.0.2.2" });
  expect(await valuesOf(NAME, "A")).toEqual(["192.0.2.2"]);
  expect(recursive.questions).not.toContain(`${NAME} A`);
});

test("asks the servers of the nearest zone, and not the servers of an alias", async () => {
  recursive.records.push(
    { name: NAME, type: "CNAME", value: "elsewhere.example.net" },
    { name: "sub.example.com", type: "NS", value: "ns.nowhere.example" },
  );
  authoritative.records.push({ name: NAME, type: "A", value: "192.0.2.2" });
  expect(await valuesOf(NAME, "A")).toEqual(["192.0.2.2"]);
  expect(await failureOf("app.sub.example.com")).toContain("has no DNS server with a public address");
});

test("follows an alias into another zone", async () => {
  recursive.records.push(...delegation("example.net"));
  authoritative.records.push(
    { name: NAME, type: "CNAME", value: "target.example.net" },
    { name: "target.example.net", type: "AAAA", value: "2001:db8::7" },
  );
  expect(await valuesOf(NAME, "AAAA")).toEqual(["2001:db8::7"]);
});

test("stops after a long chain of aliases", async () => {
  for (let n = 0; n < 20; n++)
    authoritative.records.push({ name: `a${n}.example.com`, type: "CNAME", value: `a${n + 1}.example.com` });
  expect(await failureOf("a0.example.com")).toContain("more than 8 CNAME records");
});

test("reads long TXT records, many records and truncated responses", async () => {
  const long = "x".repeat(700);
  authoritative.records.push({ name: NAME, type: "TXT", value: long });
  for (let n = 0; n < 200; n++) authoritative.records.push({ name: NAME, type: "A", value: `192.0.2.${n}` });
  expect(await valuesOf(NAME, "TXT")).toEqual([long]);
  authoritative.behavior = () => "truncated";
  expect(await valuesOf(NAME, "A")).toHaveLength(200);
});

test("fails if the servers fail, and if the recursive resolver does not respond", async () => {
  authoritative.behavior = () => "failing";
  expect(await failureOf(NAME)).toBe(`The DNS servers of '${NAME}' did not respond, or responded with an error.`);
  authoritative.behavior = () => "normal";
  recursive.behavior = () => "silent";
  expect(await failureOf(NAME)).toBe(`The DNS servers of '${NAME}' did not respond, or responded with an error.`);
});

test("asks the operator's resolver for names without a known zone", async () => {
  recursive.records.push({ name: "app.internal.test", type: "A", value: "192.0.2.3" });
  expect(await valuesOf("app.internal.test", "A")).toEqual(["192.0.2.3"]);
});

/** A resolver without the option `server`. The recursive server of the test is the system's. */
const withSystemServer = () => {
  const system = `${RECURSIVE}:${recursive.port}`;
  class SystemResolver extends promises.Resolver {
    constructor(options?: ConstructorParameters<typeof promises.Resolver>[0]) {
      super(options);
      this.setServers([system]);
    }
  }
  const spy = vi.spyOn(promises, "Resolver").mockImplementation(SystemResolver);
  const { port } = authoritative;
  const own = createAuthoritativeDns({ port, permitsPrivate: true, timeoutMs: 100, clock });
  return { dns: own, [Symbol.dispose]: () => spy.mockRestore() };
};

test("asks the servers of the top-level domain for a name that is not registered", async () => {
  using system = withSystemServer();
  recursive.records.push(...delegation("net"));
  expect((await system.dns.resolve("app.unregistered.net", "A"))._unsafeUnwrap()).toEqual([]);
  expect(authoritative.questions).toContain("app.unregistered.net A");
  authoritative.records.push({ name: NAME, type: "CNAME", value: "gone.unregistered.net" });
  expect((await system.dns.resolve(NAME, "A"))._unsafeUnwrap()).toEqual([]);
});

test("reads no records from the cache of the system's server, even if it does not know the zone", async () => {
  using system = withSystemServer();
  recursive.records.push({ name: "db.internal", type: "A", value: "10.0.0.5" });
  const failed = (await system.dns.resolve("db.internal", "A"))._unsafeUnwrapErr();
  expect(failed.message).toContain("has no DNS server with a public address");
});

test("ends when the caller aborts", async () => {
  authoritative.behavior = () => "silent";
  const aborted = await dns.resolve(NAME, "A", { signal: AbortSignal.abort() });
  expect(aborted._unsafeUnwrapErr().message).toContain("did not respond in time");
  expect(authoritative.questions).toEqual([]);
});

test("sends no query to a private address", async () => {
  const guarded = await start(false);
  guarded.authoritative.records.push({ name: NAME, type: "A", value: "192.0.2.2" });
  const refused = (await guarded.dns.resolve(NAME, "A"))._unsafeUnwrapErr();
  expect(refused.message).toContain("has no DNS server with a public address");
  expect(guarded.authoritative.questions).toEqual([]);
  await guarded.close();
});

test("resolves only a few names of servers without an address, also in a chain of aliases", async () => {
  for (const zone of ["first.net", "second.net"])
    for (let n = 0; n < 20; n++) recursive.records.push({ name: zone, type: "NS", value: `n${n}.${zone}.victim.org` });
  recursive.records.push({ name: "n5.first.net.victim.org", type: "A", value: AUTHORITATIVE });
  authoritative.records.push({ name: "app.first.net", type: "CNAME", value: "app.second.net" });
  expect(await failureOf("app.first.net")).toContain("has no DNS server with a public address");
  const asked = new Set(
    recursive.questions.filter((one) => one.includes("victim.org")).map((one) => one.split(" ")[0]),
  );
  // The eight without an address, and `n5`.
  expect(asked.size).toBe(9);
  expect(authoritative.questions).toContain("app.first.net A");
});

/** With a timeout that concurrent lookups on a busy machine do not reach. */
const startPatient = async () => {
  const { close, ...started } = await start(true, 10_000);
  return { ...started, [Symbol.asyncDispose]: close };
};

test("more lookups than the limit wait for the others", async () => {
  await using patient = await startPatient();
  const names = Array.from({ length: 90 }, (_, n) => `a${n}.example.com`);
  const results = await Promise.all(names.map((name) => patient.dns.resolve(name, "A")));
  expect(results.filter((one) => one.isErr())).toEqual([]);
});

test("refuses lookups while too many wait, but keeps places for reserved lookups", async () => {
  await using patient = await startPatient();
  patient.recursive.behavior = () => "silent";
  const ending = new AbortController();
  const started: Promise<unknown>[] = [];
  const failures: (Unavailable | RateLimited)[] = [];
  const lookUp = (count: number, isReserved: boolean) => {
    for (let n = 0; n < count; n++) {
      // Each registered domain has its own limit on lookups per minute.
      const lookup = patient.dns.resolve(`${started.length}.test`, "A", { isReserved, signal: ending.signal });
      started.push(Promise.resolve(lookup).then((one) => one.isErr() && failures.push(one.error)));
    }
  };
  const refusals = () => failures.filter(({ kind }) => kind === "rate_limited");
  // 50 run, and 400 wait.
  lookUp(451, false);
  await new Promise(setImmediate);
  expect(refusals()).toMatchObject([{ message: "Too many DNS lookups of '450.test'. Try again in 1 s." }]);
  lookUp(101, true);
  await new Promise(setImmediate);
  expect(refusals()).toHaveLength(2);
  ending.abort();
  await Promise.all(started);
  expect(refusals()).toHaveLength(2);
});

test("servers may have private addresses only if the operator's resolver has one", () => {
  const isPrivate = ["127.0.0.1", "10.0.0.53:5353", "[fd00::1]:53", "fd00::1", "::1"];
  const isPublic = ["1.1.1.1", "1.1.1.1:53", "2606:4700:4700::1111", "[2606:4700:4700::1111]:53"];
  expect(isPrivate.filter((server) => !isPrivateServer(server))).toEqual([]);
  expect(isPublic.filter(isPrivateServer)).toEqual([]);
});

test("limits the lookups of each registered domain, and keeps a part of them for reserved lookups", async () => {
  await using patient = await startPatient();
  const names = Array.from({ length: 220 }, (_, n) => `a${n}.example.com`);
  const failures: (Unavailable | RateLimited)[] = [];
  for (const name of names) {
    const found = await patient.dns.resolve(name, "A");
    if (found.isErr()) failures.push(found.error);
  }
  expect(failures).toHaveLength(20);
  expect(failures[0]).toMatchObject({ kind: "rate_limited", message: expect.stringContaining("Too many DNS lookups") });
  expect((await patient.dns.resolve("app.other.test", "A")).isOk()).toBe(true);
  const reserved = await Promise.all(names.map((name) => patient.dns.resolve(name, "A", { isReserved: true })));
  expect(reserved.filter((one) => one.isOk())).toHaveLength(100);
});

test("the lookups of a registered domain with slow servers do not delay those of others", async () => {
  const slow = await start(true, 500);
  slow.recursive.records.push(...delegation("slow.net"));
  slow.authoritative.behavior = (name) => (name.endsWith("slow.net") ? "silent" : "normal");
  const ending = new AbortController();
  let ended = 0;
  const lookups = Array.from({ length: 150 }, async (_, n) => {
    const found = await slow.dns.resolve(`a${n}.slow.net`, "A", { signal: ending.signal });
    ended++;
    return found;
  });
  expect((await slow.dns.resolve(NAME, "A"))._unsafeUnwrap()).toEqual([]);
  // In the order of arrival, it would begin after 101 of them.
  expect(ended).toBeLessThanOrEqual(100);
  ending.abort();
  expect((await Promise.all(lookups)).every((one) => one.isErr())).toBe(true);
  await slow.close();
});

test("the lookups of one account do not use up the limit of a registered domain", async () => {
  await using patient = await startPatient();
  const lookups = async (account: string, count: number) => {
    const options = { account: account as AccountId };
    const names = Array.from({ length: count }, (_, n) => `a${n}.example.com`);
    const found = await Promise.all(names.map((name) => patient.dns.resolve(name, "A", options)));
    return found.filter((one) => one.isOk()).length;
  };
  expect(await lookups("attacker", 150)).toBe(100);
  expect((await patient.dns.resolve(NAME, "A", { account: "attacker" as AccountId }))._unsafeUnwrapErr()).toMatchObject(
    {
      kind: "rate_limited",
      retryAfterSeconds: 1,
    },
  );
  expect(await lookups("owner", 20)).toBe(20);
  expect((await patient.dns.resolve("other.test", "A", { account: "attacker" as AccountId })).isOk()).toBe(true);
});
