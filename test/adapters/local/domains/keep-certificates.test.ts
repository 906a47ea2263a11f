/** Orders and renewals on the state of the local provider, with a simulated DNS, a fake authority and a manual clock. */
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { discardLostKeys, LocalCertificates } from "../../../../adapters/local/domains/certificate-store.ts";
import { SecretCipher } from "../../../../adapters/local/secrets/secret-cipher.ts";
import { CertificateRows } from "../../../../adapters/local/state/certificates.ts";
import { openState, type StateDatabase } from "../../../../adapters/local/state/database.ts";
import type { ServiceRows } from "../../../../adapters/local/state/services.ts";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DomainRow } from "../../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { orderLimits } from "../../../../core/domain/domains/order-budget.ts";
import { plusMillis, timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { rateLimited, unavailable } from "../../../../core/errors.ts";
import type { OrderFailed } from "../../../../core/ports/certificate-authority.ts";
import type { DnsResolver } from "../../../../core/ports/domain-store.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { errAsync, ResultAsync } from "../../../../core/result.ts";
import { shiftedClock } from "../../../support/clocks/shifted-clock.ts";
import { createFakeAuthority } from "../../../support/domains/fake-authority.ts";
import { deployed, recorder, startMemory } from "../../../support/providers/memory-platform.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DOMAIN = "app.example.com";

let folder: string;
let db: StateDatabase;
const cipher = new SecretCipher(Buffer.alloc(32, 7));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-certificates-"));
  db = openState(folder);
});
afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

const refused: OrderFailed = {
  kind: "order_failed",
  message: "could not validate the host",
  retryAfterMs: null,
  othersMayIssue: false,
};

const limited = (retryAfterMs: number): OrderFailed => ({
  kind: "order_failed",
  message: "too many certificates",
  retryAfterMs,
  othersMayIssue: true,
});

/** A lookup that ends when its caller aborts. */
const silence = (options: CallOptions = {}) =>
  ResultAsync.fromPromise(new Promise<never>((_, reject) => options.signal?.addEventListener("abort", reject)), () =>
    unavailable("no response"),
  );

/** Starts a platform whose certificates are in the state, with the deployment `app`. */
const start = async (count = 2, lookMs = 10_000, hostsBelow?: string, manual?: ManualClock) => {
  const rows = new CertificateRows(db);
  let applied = 0;
  let dnsMode: "works" | "slow" | "busy" = "works";
  const owned: { domain: DomainName; name: DeploymentName; owner: never }[] = [];
  const services: ReturnType<ServiceRows["all"]> = [];
  const store = new LocalCertificates({
    rows,
    cipher,
    hostsBelow,
    servesApi: false,
    services: { all: () => services, get: (name) => services.find((one) => one.name === name) },
    challengeTypes: ["http-01"],
    domains: { routes: () => owned, route: (domain) => owned.find((one) => one.domain === domain) },
    engine: {
      apply: async () => {
        applied++;
        return { ports: {} };
      },
    },
  });
  const authorities: ReturnType<typeof createFakeAuthority>[] = [];
  const platform = startMemory({
    ...(manual === undefined ? {} : { clock: manual }),
    around: ({ domains }, clock) => {
      if (domains === undefined) return {};
      const dns: DnsResolver = {
        resolve: (name, type, options) => {
          if (dnsMode === "busy" && options?.isReserved) return errAsync(rateLimited("Too many DNS lookups.", 1));
          return dnsMode === "slow" ? silence(options) : domains.dns.resolve(name, type);
        },
      };
      for (let n = 0; n < count; n++) authorities.push(createFakeAuthority(clock, `ca-${n}.test`));
      return { domains: { ...domains, dns, certificates: { store, responder: store, authorities } } };
    },
  });
  const { controlPlane, clock, memory, principal } = platform;
  await deployed(platform);
  const own = async (domain = DOMAIN) => {
    const { records } = (await controlPlane.addDomain(principal(), { domain, name: "app" }))._unsafeUnwrap();
    memory.dns.add(...records);
    (await controlPlane.checkDomain(principal(), { domain }))._unsafeUnwrap();
    owned.push({ domain: domain as DomainName, name: "app" as DeploymentName, owner: principal().account as never });
  };
  let stopping = new AbortController();
  let kept: Promise<void> = Promise.resolve();
  const keep = () => {
    stopping = new AbortController();
    kept = controlPlane.keepCertificates({ signal: stopping.signal, lookMs });
  };
  const stop = async () => {
    stopping.abort();
    await clock.advance(1);
    await kept;
  };
  const [first, second] = authorities as [(typeof authorities)[0], (typeof authorities)[0]];
  const row = async (domain = DOMAIN): Promise<DomainRow> => {
    const all = (await controlPlane.listDomains(principal()))._unsafeUnwrap();
    return all.find((one) => one.domain === domain) as DomainRow;
  };
  return {
    ...platform,
    rows,
    store,
    first,
    second,
    own,
    keep,
    stop,
    row,
    owned,
    applied: () => applied,
    authorities,
    serve: (name: string, owner: AccountId) =>
      void services.push({ name, owner, serving: {} } as unknown as (typeof services)[number]),
    setDns: (mode: typeof dnsMode) => {
      dnsMode = mode;
    },
  };
};

/** Advances a long time in steps, so that each check of the keeper takes effect. */
const pass = async ({ clock }: Awaited<ReturnType<typeof start>>, millis: number, steps = 20) => {
  for (let step = 0; step < steps; step++) await clock.advance(millis / steps);
};

test("orders a certificate, and then the domain is active", async () => {
  const platform = await start();
  const { own, keep, stop, row, first, rows } = platform;
  await own();
  expect(await row()).toMatchObject({ status: "pending", certificate: null });
  expect((await row()).detail).toContain("The DNS records are correct. The platform has no certificate");
  let published = 0;
  first.validate = async (challenge) => {
    expect(rows.challenges()).toEqual([challenge]);
    published++;
  };
  keep();
  await pass(platform, MINUTE_MS);
  expect(published).toBe(1);
  expect(rows.challenges()).toEqual([]);
  const { status, certificate } = await row();
  expect(status).toBe("active");
  const { chain, key, nextKey } = rows.of(DOMAIN as DomainName);
  const pem = cipher.openPrivateKey({ kind: "host", name: DOMAIN }, key as Uint8Array) as string;
  const issued = new X509Certificate(chain as string);
  expect(issued.checkHost(DOMAIN)).toBe(DOMAIN);
  expect(issued.checkPrivateKey(createPrivateKey(pem))).toBe(true);
  expect(new Date(certificate?.not_after as string)).toEqual(issued.validToDate);
  expect(nextKey).toBeNull();
  // No further order while the certificate is valid.
  await pass(platform, HOUR_MS);
  expect(first.orders).toHaveLength(1);
  await stop();
});

test("gets a certificate after the correction of a clock that was a year ahead", async () => {
  const manual = createManualClock();
  const shifted = shiftedClock(manual);
  const platform = await start(1, 10_000, undefined, { ...shifted, advance: manual.advance });
  const { own, keep, stop, row, first, setDns } = platform;
  await own();
  shifted.set(365 * DAY_MS);
  first.failure = () => refused;
  keep();
  await pass(platform, 10 * MINUTE_MS);
  // The platform cannot look up the records either.
  setDns("busy");
  await pass(platform, 2 * HOUR_MS, 100);
  shifted.set(-365 * DAY_MS);
  first.failure = () => undefined;
  setDns("works");
  await pass(platform, MINUTE_MS);
  expect((await row()).status).toBe("active");
  await stop();
});

test("renews with a new key, at a random point of the advised window that it chooses once", async () => {
  const platform = await start(1, HOUR_MS);
  const { own, keep, stop, first, rows, clock } = platform;
  await own();
  keep();
  await pass(platform, MINUTE_MS);
  const before = rows.of(DOMAIN as DomainName);
  first.window = { start: plusMillis(clock.now(), 10 * DAY_MS), end: plusMillis(clock.now(), 12 * DAY_MS) };
  await pass(platform, DAY_MS);
  const planned = rows.of(DOMAIN as DomainName).renewal;
  expect(planned).not.toBeNull();
  await pass(platform, 8 * DAY_MS, 50);
  expect(JSON.parse(rows.of(DOMAIN as DomainName).renewal as string).random).toBe(JSON.parse(planned as string).random);
  expect(first.orders).toHaveLength(1);
  await pass(platform, 4 * DAY_MS, 50);
  expect(first.orders).toHaveLength(2);
  expect(first.requests[1]?.replaces).toBe(before.chain);
  expect(first.requests[1]?.key).not.toBe(first.requests[0]?.key);
  await stop();
});

test("an outage of three days backs off, keeps the certificate, and ends with a renewal", async () => {
  const platform = await start(1, 10 * MINUTE_MS);
  const { own, keep, stop, first, row, clock } = platform;
  await own();
  keep();
  await pass(platform, MINUTE_MS);
  first.failure = () => unavailable("connection refused");
  first.window = { start: clock.now(), end: plusMillis(clock.now(), 1000) };
  first.requests.length = 0;
  await pass(platform, 3 * DAY_MS, 500);
  expect(first.requests.length).toBeGreaterThan(8);
  expect(first.requests.length).toBeLessThan(20);
  expect(new Set(first.requests.map(({ key }) => key)).size).toBe(1);
  const { status, detail, certificate } = await row();
  expect(status).toBe("failing");
  expect(detail).toContain("its renewal is failing. The authority ca-0.test is not available: connection refused");
  expect(detail).toMatch(/Next attempt at 2026-\d\d-\d\dT[\d:]{8}Z\.$/);
  expect(certificate).not.toBeNull();
  first.failure = () => undefined;
  first.window = null;
  await pass(platform, 2 * DAY_MS, 100);
  expect((await row()).status).toBe("active");
  expect(first.orders).toHaveLength(2);
  await stop();
});

test("uses the next authority for a problem with the first authority, but not for a problem with the host", async () => {
  const platform = await start();
  const { own, keep, stop, first, second, row } = platform;
  await own();
  first.failure = () => limited(DAY_MS);
  keep();
  await pass(platform, MINUTE_MS);
  expect(second.orders).toHaveLength(1);
  expect((await row()).status).toBe("active");
  first.failure = () => ({ ...refused, message: "a CAA record forbids it", othersMayIssue: true });
  await own("caa.example.com");
  await pass(platform, MINUTE_MS);
  expect(second.orders).toHaveLength(2);
  first.failure = () => refused;
  await own("other.example.com");
  await pass(platform, MINUTE_MS);
  expect(second.orders).toHaveLength(2);
  expect(await row("other.example.com")).toMatchObject({ status: "pending", certificate: null });
  expect((await row("other.example.com")).detail).toContain("could not validate the host");
  await stop();
});

test("asks no authority while the records are wrong", async () => {
  const platform = await start();
  const { own, keep, stop, first, row, memory } = platform;
  await own();
  memory.dns.remove(DOMAIN);
  keep();
  await pass(platform, MINUTE_MS);
  expect(first.requests).toEqual([]);
  expect((await row()).detail).toContain("has no address");
  await stop();
});

test("checks the ownership again before a renewal", async () => {
  const platform = await start(1, HOUR_MS);
  const { own, keep, stop, first, row, memory } = platform;
  await own();
  keep();
  await pass(platform, MINUTE_MS);
  memory.dns.remove(`_portside.${DOMAIN}`);
  await pass(platform, 45 * DAY_MS, 200);
  expect(first.orders).toHaveLength(1);
  expect(await row()).toMatchObject({ status: "failing", certificate: expect.anything() });
  await pass(platform, 20 * DAY_MS, 100);
  expect((await row()).detail).toContain("expired at");
  await stop();
});

test("limits the new orders of a registered domain and account", async () => {
  const platform = await start(1, HOUR_MS);
  const { own, keep, stop, first, row } = platform;
  for (let n = 0; n < 12; n++) await own(`a${n}.example.com`);
  keep();
  await pass(platform, MINUTE_MS);
  expect(first.orders).toHaveLength(10);
  const rows = await Promise.all(Array.from({ length: 12 }, (_, n) => row(`a${n}.example.com`)));
  const waiting = rows.filter(({ status }) => status === "pending");
  expect(waiting).toHaveLength(2);
  expect(waiting[0]?.detail).toContain("Authorities limit the certificates for 'example.com' per week");
  await pass(platform, 8 * DAY_MS, 50);
  expect(first.orders).toHaveLength(12);
  await stop();
});

test("replaces expired certificates beyond the limit of new orders, and places a new order afterwards", async () => {
  const platform = await start(1, HOUR_MS);
  const { own, keep, stop, first, rows, clock } = platform;
  const notBefore = timestampOf(plusMillis(clock.now(), -90 * DAY_MS));
  const notAfter = timestampOf(plusMillis(clock.now(), -DAY_MS));
  for (let n = 0; n < 12; n++) {
    await own(`a${n}.example.com`);
    rows.change(`a${n}.example.com` as DomainName, { chain: "chain", notBefore, notAfter, authority: "old.test" });
  }
  keep();
  await pass(platform, MINUTE_MS);
  expect(first.orders).toHaveLength(12);
  await own("new.example.com");
  await pass(platform, 2 * HOUR_MS);
  expect(rows.orders().map(({ kind }) => kind)).toEqual([...Array(12).fill("renewal"), "new"]);
  await stop();
});

test("continues the order with the same key after a crash", async () => {
  const platform = await start(1);
  const { own, keep, stop, first, row, rows } = platform;
  await own();
  // The process ends during the validation: nothing is stored after it.
  first.validate = () => new Promise(() => undefined);
  keep();
  await pass(platform, MINUTE_MS);
  expect(rows.challenges()).toHaveLength(1);
  const { nextOrder } = rows.of(DOMAIN as DomainName);
  expect(nextOrder).toBe(first.orders[0]);
  first.validate = async () => undefined;
  // Another keeper, as after a restart.
  keep();
  await pass(platform, MINUTE_MS);
  expect(first.orders).toHaveLength(1);
  expect(first.requests[1]).toMatchObject({ order: nextOrder, key: first.requests[0]?.key });
  expect((await row()).status).toBe("active");
  expect(rows.orders()).toHaveLength(1);
  await stop();
});

test("continues the order at the second authority after a crash, even if the first one works again", async () => {
  const platform = await start();
  const { own, keep, stop, first, second, rows } = platform;
  await own();
  first.failure = () => unavailable("connection refused");
  second.validate = () => new Promise(() => undefined);
  keep();
  await pass(platform, MINUTE_MS);
  expect(second.orders).toHaveLength(1);
  first.failure = () => undefined;
  second.validate = async () => undefined;
  keep();
  await pass(platform, MINUTE_MS);
  expect(first.orders).toEqual([]);
  expect(second.orders).toHaveLength(1);
  expect(rows.of(DOMAIN as DomainName).authority).toBe(second.name);
  await stop();
});

test("a refusal of the second authority keeps the order at the first one", async () => {
  const platform = await start();
  const { own, keep, stop, first, second } = platform;
  await own();
  first.validate = async () => unavailable("connection refused");
  second.failure = () => limited(MINUTE_MS);
  keep();
  await pass(platform, MINUTE_MS);
  first.validate = async () => undefined;
  await pass(platform, HOUR_MS, 100);
  expect(first.orders).toHaveLength(1);
  expect(first.requests.at(-1)?.order).toBe(first.orders[0]);
  await stop();
});

test("the budget counts the orders at each authority", async () => {
  const platform = await start(2, 10 * MINUTE_MS);
  const { own, keep, stop, first, second, rows } = platform;
  await own();
  const busy = async () => unavailable("still busy");
  first.validate = busy;
  second.validate = busy;
  keep();
  await pass(platform, 3 * DAY_MS, 400);
  expect(first.orders.length + second.orders.length).toBe(10);
  expect(rows.orders()).toHaveLength(10);
  await stop();
});

test("ends an order whose account loses the domain, and does not store its certificate", async () => {
  const platform = await start();
  const { own, keep, stop, first, second, owned, rows } = platform;
  await own();
  first.validate = async () => void owned.pop();
  keep();
  await pass(platform, MINUTE_MS);
  expect(first.orders).toHaveLength(1);
  expect(rows.served()).toEqual([]);
  await own("other.example.com");
  first.validate = async () => {
    owned.pop();
    return unavailable("connection refused");
  };
  await pass(platform, MINUTE_MS);
  expect(first.orders).toHaveLength(2);
  expect(second.orders).toEqual([]);
  await stop();
});

test.each([undefined, "apps.example.net"])(
  "a stop during the check of records is not a failure (%s)",
  async (below) => {
    const platform = await start(1, 10_000, below);
    const { own, keep, stop, setDns, rows } = platform;
    if (below === undefined) await own();
    setDns("slow");
    keep();
    await pass(platform, MINUTE_MS);
    await stop();
    expect(rows.all()).toEqual([]);
  },
);

test("a start ends the pause after a missing record of the platform's own host", async () => {
  const platform = await start(1, 10_000, "apps.example.net");
  const { keep, stop, first, rows, memory } = platform;
  const host = "storage.apps.example.net" as DomainName;
  keep();
  await pass(platform, 2 * DAY_MS, 400);
  expect(rows.of(host)).toMatchObject({ failures: 12, orderFailures: 0 });
  memory.dns.add({ type: "CNAME", name: host, value: "ingress.memory.invalid" });
  await pass(platform, MINUTE_MS);
  expect(first.orders).toHaveLength(0);
  await stop();
  keep();
  await pass(platform, MINUTE_MS);
  expect(first.orders).toHaveLength(1);
  await stop();
});

test("a server that restarts repeatedly does not repeat its failed orders", async () => {
  const platform = await start(1, 10_000, "apps.example.net");
  const { keep, stop, first, rows, memory } = platform;
  const host = "storage.apps.example.net" as DomainName;
  memory.dns.add({ type: "CNAME", name: host, value: "ingress.memory.invalid" });
  first.failure = () => refused;
  for (let restarts = 0; restarts < 180; restarts++) {
    keep();
    await pass(platform, MINUTE_MS, 2);
    await stop();
  }
  // After 0, 1, 3, 7, 15, 31, 63 and 127 minutes.
  expect(first.requests).toHaveLength(8);
  first.failure = () => limited(DAY_MS);
  for (let restarts = 0; restarts < 80; restarts++) {
    keep();
    await pass(platform, MINUTE_MS, 2);
    await stop();
  }
  expect(first.requests).toHaveLength(9);
  expect(Object.keys(JSON.parse(rows.of(host).authorityDelays))).toEqual([first.name]);
});

test("renews a certificate with a lifetime of hours before it expires", async () => {
  const platform = await start(1, MINUTE_MS);
  const { own, keep, stop, first, row } = platform;
  first.lifetimeMs = 6 * HOUR_MS;
  await own();
  keep();
  await pass(platform, HOUR_MS, 60);
  await pass(platform, 4 * HOUR_MS, 240);
  expect(first.orders).toHaveLength(2);
  expect((await row()).status).toBe("active");
  await stop();
});

test("limits the delay that an authority asks for", async () => {
  const platform = await start(1, HOUR_MS);
  const { own, keep, stop, first } = platform;
  await own();
  first.failure = () => limited(999_999_999_000);
  keep();
  await pass(platform, MINUTE_MS);
  first.failure = () => undefined;
  await pass(platform, 8 * DAY_MS, 50);
  expect(first.orders).toHaveLength(1);
  await stop();
});

test("orders a new certificate after the loss of the secrets key", async () => {
  const platform = await start(1);
  const { own, keep, stop, first, rows } = platform;
  const { logger, logged } = recorder();
  await own();
  keep();
  await pass(platform, MINUTE_MS);
  discardLostKeys(rows, cipher, logger);
  expect(logged).toEqual([]);
  expect(rows.of(DOMAIN as DomainName).chain).not.toBeNull();
  const foreign = new SecretCipher(Buffer.alloc(32, 8));
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  rows.change(DOMAIN as DomainName, { key: foreign.sealPrivateKey({ kind: "host", name: DOMAIN }, pem) });
  discardLostKeys(rows, cipher, logger);
  expect(rows.of(DOMAIN as DomainName)).toMatchObject({ chain: null, key: null });
  expect(logged).toEqual([expect.stringContaining("discarded a private key")]);
  await pass(platform, MINUTE_MS);
  expect(first.orders).toHaveLength(2);
  await stop();
});

test("gets the certificates of 25 domains, with at most 20 orders at a time", async () => {
  const platform = await start(1);
  const { own, keep, stop, first, rows } = platform;
  for (let n = 0; n < 25; n++) await own(`app.domain-${n}.com`);
  rows.change("removed.example.com" as DomainName, {});
  let [running, most] = [0, 0];
  first.validate = async () => {
    most = Math.max(most, ++running);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    running--;
  };
  keep();
  await pass(platform, 2 * MINUTE_MS);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(20);
  expect(first.orders).toHaveLength(25);
  // A host that needs no certificate leaves the state.
  expect(rows.all()).toHaveLength(25);
  await stop();
});

test("too many DNS lookups are not a failure of the domain", async () => {
  const platform = await start(1);
  const { own, keep, stop, setDns, rows, first, row } = platform;
  await own();
  setDns("busy");
  keep();
  await pass(platform, HOUR_MS, 100);
  expect(rows.all()).toEqual([]);
  expect((await row()).detail).not.toContain("did not respond");
  setDns("works");
  await pass(platform, 2 * MINUTE_MS);
  expect(first.orders).toHaveLength(1);
  await stop();
});

test("replaces a certificate whose authority is no longer configured, and uses it until then", async () => {
  const platform = await start();
  const { own, keep, stop, first, second, rows, authorities, row } = platform;
  await own();
  keep();
  await pass(platform, MINUTE_MS);
  expect(rows.of(DOMAIN as DomainName).authority).toBe(first.name);
  await stop();
  authorities.shift();
  second.failure = () => unavailable("connection refused");
  keep();
  await pass(platform, MINUTE_MS);
  expect(rows.served()).toHaveLength(1);
  expect((await row()).certificate).not.toBeNull();
  second.failure = () => undefined;
  await pass(platform, HOUR_MS, 100);
  expect(rows.of(DOMAIN as DomainName).authority).toBe(second.name);
  expect(second.requests.at(-1)?.replaces).toBeUndefined();
  expect(second.orders).toHaveLength(1);
  expect(rows.orders().map(({ kind }) => kind)).toEqual(["new", "renewal"]);
  await stop();
});

test("a restart neither asks for advice again nor renews a new certificate", async () => {
  const platform = await start(1, 10 * MINUTE_MS);
  const { own, keep, stop, first, clock } = platform;
  await own();
  let asked = 0;
  const { advice } = first;
  first.advice = (certificate, options) => {
    asked++;
    return advice(certificate, options);
  };
  keep();
  await pass(platform, HOUR_MS);
  expect(asked).toBe(1);
  first.window = { start: clock.now(), end: plusMillis(clock.now(), 1000) };
  for (let restarts = 0; restarts < 3; restarts++) {
    await stop();
    keep();
    await pass(platform, HOUR_MS);
  }
  expect(asked).toBe(1);
  await pass(platform, 7 * HOUR_MS, 60);
  expect(asked).toBeGreaterThan(1);
  expect(first.orders).toHaveLength(1);
  await stop();
  keep();
  await pass(platform, 2 * HOUR_MS);
  expect(first.orders).toHaveLength(2);
  await stop();
});

test("a restart does not ask again for advice that the authority could not give", async () => {
  const platform = await start(1, 10 * MINUTE_MS);
  const { own, keep, stop, first } = platform;
  await own();
  let asked = 0;
  first.advice = () => {
    asked++;
    return errAsync(unavailable("no advice"));
  };
  for (let restarts = 0; restarts < 3; restarts++) {
    keep();
    await pass(platform, HOUR_MS);
    await stop();
  }
  expect(asked).toBe(1);
});

test("a check after a correction of the records ends the pause, and a check without one shortens it", async () => {
  const platform = await start(1);
  const { own, keep, stop, first, rows, memory, controlPlane, principal } = platform;
  const check = async () => (await controlPlane.checkDomain(principal(), { domain: DOMAIN }))._unsafeUnwrap();
  await own();
  const { records } = await check();
  memory.dns.remove(DOMAIN);
  keep();
  await pass(platform, 2 * HOUR_MS, 200);
  expect(rows.of(DOMAIN as DomainName).failures).toBeGreaterThan(5);
  expect((await check()).detail).toContain("has no address");
  await pass(platform, MINUTE_MS);
  expect(first.requests).toEqual([]);
  first.failure = () => refused;
  memory.dns.add(...records.filter(({ type }) => type !== "TXT"));
  expect((await check()).detail).toContain("The next attempt begins soon.");
  await pass(platform, 30_000);
  expect(first.requests).toHaveLength(1);
  // Continuous checks must not use up the budget.
  for (let checks = 0; checks < 3 * 60; checks++) {
    await check();
    await pass(platform, MINUTE_MS, 6);
  }
  expect(first.requests.length).toBeGreaterThan(12);
  expect(first.requests.length).toBeLessThan(30);
  await stop();
});

test("places a new order after the authority failed to complete the first one for hours", async () => {
  const platform = await start(1, MINUTE_MS);
  const { own, keep, stop, row, first } = platform;
  await own();
  // The authority accepts new orders, but has lost the data of the first one.
  first.validate = async () => unavailable("HTTP 500");
  first.failure = ({ order }) =>
    order === first.orders[0] && order !== undefined ? unavailable("HTTP 500") : undefined;
  keep();
  await pass(platform, 10 * MINUTE_MS);
  first.validate = async () => undefined;
  await pass(platform, 2 * HOUR_MS, 100);
  expect(first.orders).toHaveLength(1);
  expect((await row()).status).toBe("pending");
  await pass(platform, 8 * HOUR_MS, 400);
  expect(first.orders).toHaveLength(2);
  expect((await row()).status).toBe("active");
  await stop();
});

test("an overloaded authority's delay is respected, even if the owner checks the domain", async () => {
  const platform = await start(1, MINUTE_MS);
  const { own, keep, stop, first, controlPlane, principal } = platform;
  first.failure = () => unavailable("overloaded", (6 * HOUR_MS) / 1000);
  await own();
  keep();
  await pass(platform, 3 * HOUR_MS);
  (await controlPlane.checkDomain(principal(), { domain: DOMAIN }))._unsafeUnwrap();
  await pass(platform, 2 * HOUR_MS);
  expect(first.requests).toHaveLength(1);
  await pass(platform, 2 * HOUR_MS);
  expect(first.requests).toHaveLength(2);
  await stop();
});

test("the removal of a domain does not end an authority's delay", async () => {
  const platform = await start(1);
  const { own, owned, keep, stop, first, rows, controlPlane, principal } = platform;
  first.failure = () => limited(3 * HOUR_MS);
  await own();
  keep();
  await pass(platform, MINUTE_MS);
  (await controlPlane.removeDomain(principal(), { domain: DOMAIN }))._unsafeUnwrap();
  owned.length = 0;
  await pass(platform, MINUTE_MS);
  await own();
  await pass(platform, 2 * HOUR_MS, 100);
  expect(first.requests).toHaveLength(1);
  owned.length = 0;
  await pass(platform, 2 * HOUR_MS, 100);
  expect(rows.all()).toEqual([]);
  await stop();
});

test("orders one certificate for a custom domain that is also the host of a deployment", async () => {
  const domain = "app.example.com";
  const platform = await start(1, 10_000, "example.com");
  const { own, keep, stop, first, serve, principal, row, store } = platform;
  await own(domain);
  serve("app", principal().account);
  first.failure = ({ host }) => (host === domain ? undefined : refused);
  keep();
  await pass(platform, 10 * MINUTE_MS, 60);
  expect((await row(domain)).status).toBe("active");
  expect(first.requests.filter(({ host }) => host === domain)).toHaveLength(1);
  const hosts = (await store.hosts())._unsafeUnwrap().filter(({ host }) => host === domain);
  expect(hosts).toEqual([{ host: domain, account: principal().account, isOwn: true }]);
  await stop();
});

test("uses the last order of the week for the certificate that expires first", async () => {
  const platform = await start(1, HOUR_MS, "example.com");
  const { keep, stop, first, serve, principal, store, rows, clock, memory } = platform;
  const { account } = principal();
  const order = { registeredDomain: "example.com" as DomainName, kind: "renewal", at: clock.now() } as const;
  const begun = { authority: first.name, url: "https://ca-0.test/order" };
  const others = [principal("one"), principal("two")].map(({ account: other }) => other);
  for (let orders = 1; orders < orderLimits.orders; orders++) {
    const counted = { ...order, account: others[orders % 2] as AccountId };
    (await store.startOrder("other.example.com" as DomainName, begun, counted))._unsafeUnwrap();
  }
  // Both certificates are due, because their authority is no longer configured.
  for (const [name, days] of [
    ["early", 60],
    ["late", 2],
  ] as const) {
    serve(name, account);
    memory.dns.add({ type: "CNAME", name: `${name}.example.com`, value: "ingress.memory.invalid" });
    const notBefore = timestampOf(plusMillis(clock.now(), -30 * DAY_MS));
    const notAfter = timestampOf(plusMillis(clock.now(), days * DAY_MS));
    rows.change(`${name}.example.com` as DomainName, { chain: "chain", notBefore, notAfter, authority: "old.test" });
  }
  keep();
  await pass(platform, MINUTE_MS);
  expect(first.requests.map(({ host }) => host)).toEqual(["late.example.com"]);
  await stop();
});

test("a check does not shorten an authority's delay", async () => {
  const platform = await start(1);
  const { own, keep, stop, first, controlPlane, principal } = platform;
  await own();
  first.failure = () => limited(DAY_MS);
  keep();
  await pass(platform, MINUTE_MS);
  (await controlPlane.checkDomain(principal(), { domain: DOMAIN }))._unsafeUnwrap();
  await pass(platform, 23 * HOUR_MS, 50);
  expect(first.requests).toHaveLength(1);
  await stop();
});

test("a check during an attempt clears the earlier failures", async () => {
  const platform = await start(1);
  const { own, keep, stop, first, rows } = platform;
  await own();
  first.failure = () => refused;
  keep();
  await pass(platform, 2 * HOUR_MS, 200);
  expect(rows.of(DOMAIN as DomainName).failures).toBeGreaterThan(4);
  first.failure = () => {
    rows.change(DOMAIN as DomainName, { failures: 0, reason: null, nextAttemptAt: null });
    first.failure = () => refused;
    return refused;
  };
  const asked = first.requests.length;
  for (let minutes = 0; first.requests.length === asked && minutes < 6 * 60; minutes++)
    await pass(platform, MINUTE_MS, 6);
  expect(rows.of(DOMAIN as DomainName)).toMatchObject({ failures: 1, reason: expect.stringContaining("validate") });
  await stop();
});

test("the certificate of a removed host stays until it expires", async () => {
  const platform = await start(1, HOUR_MS);
  const { own, keep, stop, owned, rows } = platform;
  await own();
  keep();
  await pass(platform, MINUTE_MS);
  owned.length = 0;
  await pass(platform, 50 * DAY_MS, 100);
  expect(rows.served()).toHaveLength(1);
  await pass(platform, 50 * DAY_MS, 100);
  expect(rows.all()).toEqual([]);
  await stop();
});

test("a new owner does not inherit the failures of the previous one", async () => {
  const platform = await start(1, HOUR_MS);
  const { own, keep, stop, first, rows, memory, owned, controlPlane, principal } = platform;
  await own();
  keep();
  await pass(platform, MINUTE_MS);
  first.failure = () => refused;
  await pass(platform, 50 * DAY_MS, 200);
  expect(rows.of(DOMAIN as DomainName).failures).toBeGreaterThan(2);
  await deployed(platform, { function_name: "theirs" }, "other");
  const add = () => controlPlane.addDomain(principal("other"), { domain: DOMAIN, name: "theirs" });
  const proof = /with '([^']+)'/.exec((await add())._unsafeUnwrapErr().message)?.[1] as string;
  memory.dns.remove(`_portside.${DOMAIN}`);
  memory.dns.add({ type: "TXT", name: `_portside.${DOMAIN}`, value: proof });
  owned.length = 0;
  (await add())._unsafeUnwrap();
  expect(rows.of(DOMAIN as DomainName)).toMatchObject({ failures: 0, reason: null, nextAttemptAt: null });
  expect(rows.served()).toHaveLength(1);
  await stop();
});

test("the failure of an order that ends after the account lost the domain is not stored", async () => {
  const platform = await start(1, HOUR_MS);
  const { own, keep, stop, first, owned, rows } = platform;
  await own();
  keep();
  await pass(platform, MINUTE_MS);
  first.failure = () => {
    owned.length = 0;
    return refused;
  };
  await pass(platform, 50 * DAY_MS, 200);
  expect(first.requests).toHaveLength(2);
  expect(rows.of(DOMAIN as DomainName)).toMatchObject({ chain: expect.anything(), failures: 0, reason: null });
  await stop();
});

test("a deployment shows why its host has no certificate, and when the next attempt begins", async () => {
  const platform = await start(1, 10_000, "memory.invalid");
  const { keep, stop, first, controlPlane, principal, memory } = platform;
  const get = async () => (await controlPlane.getDeployment(principal(), { name: "app" }))._unsafeUnwrap();
  const { hostname } = new URL((await get()).url);
  memory.dns.add({ type: "CNAME", name: hostname, value: "ingress.memory.invalid" });
  platform.serve("app", principal().account);
  first.failure = () => limited(DAY_MS);
  keep();
  await pass(platform, MINUTE_MS);
  expect((await get()).certificate_problem).toMatch(
    /no certificate for '.+' yet\. .+ too many .+ Next attempt at 2026-/,
  );
  first.failure = () => undefined;
  await pass(platform, DAY_MS, 50);
  expect(await get()).not.toHaveProperty("certificate_problem");
  await stop();
});

test("an authority that the operator adds issues the certificate during another authority's delay", async () => {
  const platform = await start();
  const { own, keep, stop, first, second, authorities, row } = platform;
  await own();
  first.failure = () => limited(7 * DAY_MS);
  authorities.pop();
  keep();
  await pass(platform, MINUTE_MS);
  expect((await row()).detail).toContain("Next attempt at 2026-");
  await stop();
  authorities.push(second);
  keep();
  await pass(platform, 2 * MINUTE_MS);
  expect([first.requests.length, second.orders.length]).toEqual([1, 1]);
  expect((await row()).status).toBe("active");
  await stop();
});

test("asks an authority only after its delay, and does not delay the others", async () => {
  const platform = await start();
  const { own, keep, stop, first, second } = platform;
  await own();
  first.failure = () => limited(DAY_MS);
  second.failure = () => refused;
  keep();
  await pass(platform, 20 * HOUR_MS, 400);
  expect(first.requests).toHaveLength(1);
  expect(second.requests.length).toBeGreaterThan(5);
  await pass(platform, 2 * DAY_MS, 400);
  expect(first.requests.length).toBeGreaterThan(1);
  await stop();
});
