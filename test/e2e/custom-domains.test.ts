/**
 * Custom domains on one machine, from DNS records to HTTPS: the whole platform, with certificates by Pebble. Pebble
 * rejects some of the nonces. PORTSIDE_DOMAINS sets the number of domains of one account (20), PORTSIDE_DOMAIN_KILLS
 * the number of kills (4), PORTSIDE_SEED the first seed (random).
 */
import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { freePort } from "../../adapters/local/instances/free-port.ts";
import { CertificateRows } from "../../adapters/local/state/certificates.ts";
import { openState } from "../../adapters/local/state/database.ts";
import type { DomainRow } from "../../core/domain/domains/domain.ts";
import { helloServer, nodeSource } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { portside } from "../support/cli/terminal.ts";
import { kill, killServer, randomFrom } from "../support/crashes/crash.ts";
import { startDnsServer } from "../support/domains/dns-server.ts";
import { type PebbleSettings, startPebble } from "../support/domains/pebble.ts";
import { send } from "../support/http/clients.ts";
import { Client, end, type Served, serve } from "../support/http/served.ts";
import { silentLogger } from "../support/logs/silent-logger.ts";
import { sendTls } from "../support/tls/tls-clients.ts";
import { eventually } from "../support/vitest/eventually.ts";
import { needs } from "../support/vitest/machine.ts";

const domains = Number(process.env["PORTSIDE_DOMAINS"] ?? 20);
const count = Number(process.env["PORTSIDE_DOMAIN_KILLS"] ?? 4);
const first = Number(process.env["PORTSIDE_SEED"] ?? randomInt(2 ** 31));

/** Starts the authority and the DNS of a platform whose settings are `options`. */
const startSurroundings = async (folder: string, settings: PebbleSettings = {}) => {
  const [httpPort, tlsPort] = [await freePort(), await freePort()];
  const dns = await startDnsServer();
  const dnsServer = `127.0.0.1:${dns.port}`;
  const pebble = await startPebble({ httpPort, tlsPort }, { badNonces: 20, ...settings, dnsServer });
  writeFileSync(join(folder, "ca.pem"), pebble.ca);
  return {
    dns,
    pebble,
    httpPort,
    tls: async () => ({ port: tlsPort, ca: await pebble.manage("/roots/0") }),
    options: {
      runner: "process",
      "tls-port": `${tlsPort}`,
      "http-port": `${httpPort}`,
      "drain-seconds": "1",
      "acme-email": "ops@example.com",
      "acme-directory": pebble.directory,
      "acme-ca": join(folder, "ca.pem"),
      "dns-server": dnsServer,
      "public-address": "127.0.0.1",
    },
    [Symbol.asyncDispose]: async () => {
      await pebble[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
    },
  };
};

type Surroundings = Awaited<ReturnType<typeof startSurroundings>>;

/** Adds a domain, and creates its records. */
const addDomain = async (client: Client, { dns }: Surroundings, domain: string, name: string): Promise<void> => {
  const { records } = await client.post<DomainRow>("/v1/domain/add", { domain, name });
  for (const { type, name, value } of records) dns.records.push({ type: type as "A", name, value });
};

const rowOf = async (client: Client, domain: string): Promise<DomainRow | undefined> =>
  (await client.get<DomainRow[]>("/v1/domain/list")).find((one) => one.domain === domain);

const untilCertified = (client: Client, domain: string) =>
  eventually(async () => expect(await rowOf(client, domain)).toMatchObject({ status: "active", certificate: {} }));

test("a domain gets HTTPS after its DNS records exist", { timeout: 120_000 }, async (context) => {
  needs(context, "pebble");
  using folder = folderWith();
  await using surroundings = await startSurroundings(folder.path);
  const served = await serve(join(folder.path, "data"), { ...surroundings.options, domain: "apps.portside-own.test" });
  try {
    const client = new Client(served.url, served.apiKey ?? "");
    surroundings.dns.records.push({ type: "A", name: "own-domain.apps.portside-own.test", value: "127.0.0.1" });
    const records = await Array.fromAsync(client.deploy("own-domain", nodeSource(helloServer("own"))));
    expect(records.at(-1)?.url).toMatch(/^https:\/\/own-domain\.apps\.portside-own\.test:/);
    const domain = "shop.portside-customer.test";
    await client.post<DomainRow>("/v1/domain/add", { domain, name: "own-domain" });
    const early = await client.post<DomainRow>("/v1/domain/check", { domain });
    expect(early).toMatchObject({ status: "pending", certificate: null });
    expect(early.detail).toContain(`_portside.${domain}`);

    await addDomain(client, surroundings, domain, "own-domain");
    await client.post("/v1/domain/check", { domain });
    await untilCertified(client, domain);
    const target = await surroundings.tls();
    expect((await sendTls(target, domain)).text).toBe("own");
    await eventually(async () => expect((await sendTls(target, "own-domain.apps.portside-own.test")).text).toBe("own"));
    const redirect = await send(`http://127.0.0.1:${surroundings.httpPort}`, {
      path: "/a?b",
      headers: { host: domain },
    });
    expect([redirect.status, redirect.headers["location"]]).toEqual([308, `https://${domain}:${target.port}/a?b`]);

    await client.post("/v1/domain/remove", { domain });
    await eventually(async () => expect((await sendTls(target, domain)).status).toBe(404));
  } finally {
    await end(served);
  }
});

test("another account cannot use a domain, and gets it only after the owner of the zone changes the proof", {
  timeout: 120_000,
}, async (context) => {
  needs(context, "pebble");
  using folder = folderWith();
  await using surroundings = await startSurroundings(folder.path);
  const { dns } = surroundings;
  const dataDir = join(folder.path, "data");
  const served = await serve(dataDir, surroundings.options);
  try {
    const made = await portside(["keys", "create", "--account", "globex", "--json"], {
      env: { PORTSIDE_DATA_DIR: dataDir },
    });
    const owner = new Client(served.url, served.apiKey ?? "");
    const other = new Client(served.url, JSON.parse(made.stdout).key);
    await Array.fromAsync(owner.deploy("own-first", nodeSource(helloServer("first"))));
    await Array.fromAsync(other.deploy("own-second", nodeSource(helloServer("second"))));
    const domain = "shared.portside-customer.test";
    await addDomain(owner, surroundings, domain, "own-first");
    await owner.post("/v1/domain/check", { domain });
    await untilCertified(owner, domain);
    const target = await surroundings.tls();
    const proof = `_portside.${domain}`;
    const isProof = ({ name }: { readonly name: string }) => name === proof;
    const owners = dns.records.find(isProof)?.value;

    const add = () => other.post<DomainRow>("/v1/domain/add", { domain, name: "own-second" });
    const refused = await add().catch((error: Error) => error.message);
    expect(refused).toContain("returned 409");
    const others = /portside-verification=[\w-]+/.exec(refused as string)?.[0];
    expect(others).not.toBe(owners);
    for (const path of ["/v1/domain/check", "/v1/domain/remove"])
      await expect(other.post(path, { domain })).rejects.toThrow("returned 404");
    expect(await other.get("/v1/domain/list")).toEqual([]);
    await expect(owner.post("/v1/domain/add", { domain, name: "own-second" })).rejects.toThrow("returned 403");
    expect((await sendTls(target, domain)).text).toBe("first");

    dns.records.splice(dns.records.findIndex(isProof), 1, { type: "TXT", name: proof, value: others as string });
    expect(await add()).toMatchObject({ status: "pending" });
    await expect(owner.post("/v1/domain/check", { domain })).rejects.toThrow("returned 404");
    expect((await sendTls(target, domain)).status).toBe(404);
    await other.post("/v1/domain/check", { domain });
    await untilCertified(other, domain);
    await eventually(async () => expect((await sendTls(target, domain)).text).toBe("second"));
  } finally {
    await end(served);
  }
});

test("serves the API at the domain of the platform, with a certificate from the authority", {
  timeout: 120_000,
}, async (context) => {
  needs(context, "pebble");
  using folder = folderWith();
  await using surroundings = await startSurroundings(folder.path);
  const apex = "apps.portside-api.test";
  surroundings.dns.records.push({ type: "A", name: apex, value: "127.0.0.1" });
  const served = await serve(join(folder.path, "data"), { ...surroundings.options, domain: apex });
  try {
    const target = await surroundings.tls();
    expect(served.httpsApi).toBe(`https://${apex}:${target.port}`);
    await eventually(async () => {
      const headers = { "x-api-key": served.apiKey ?? "" };
      const reply = await sendTls(target, apex, { path: "/v1/deployment/list", headers });
      expect([reply.status, reply.text]).toEqual([200, "[]"]);
    });
    const http = `http://127.0.0.1:${surroundings.httpPort}`;
    const redirect = await send(http, { path: "/console/", headers: { host: apex } });
    expect([redirect.status, redirect.headers["location"]]).toEqual([308, `${served.httpsApi}/console/`]);
  } finally {
    await end(served);
  }
});

test("many domains get certificates concurrently", { timeout: 600_000 }, async (context) => {
  needs(context, "pebble");
  using folder = folderWith();
  await using surroundings = await startSurroundings(folder.path);
  const options = { ...surroundings.options, "custom-domains": `${domains}`, "requests-per-minute": "1000000" };
  const served = await serve(join(folder.path, "data"), options);
  try {
    const client = new Client(served.url, served.apiKey ?? "");
    await Array.fromAsync(client.deploy("own-many", nodeSource(helloServer("own"))));
    const names = Array.from({ length: domains }, (_, n) => `www.portside-many-${n}.test`);
    for (const domain of names) {
      await addDomain(client, surroundings, domain, "own-many");
      await client.post("/v1/domain/check", { domain });
    }
    for (const domain of names) await untilCertified(client, domain);
    const target = await surroundings.tls();
    // A client rejects a certificate of another host.
    for (const domain of names) expect((await sendTls(target, domain)).text).toBe("own");
  } finally {
    await end(served);
  }
});

const ordersIn = (dataDir: string): number => {
  using db = openState(dataDir, { acceptState: false, logger: silentLogger });
  return new CertificateRows(db).orders().length;
};

test.for(Array.from({ length: count }, (_, n) => ({ seed: first + n })))(
  "a domain gets its certificate after kill -9 during the issuance, with at most one extra order: seed $seed",
  { timeout: 180_000 },
  async ({ seed }, context) => {
    needs(context, "pebble");
    using folder = folderWith();
    const random = randomFrom(seed);
    await using surroundings = await startSurroundings(folder.path, { delaySeconds: 1 });
    const dataDir = join(folder.path, "data");
    const start = () => serve(dataDir, surroundings.options);
    let served: Served = await start();
    const apiKey = served.apiKey ?? "";
    const domain = `killed-${seed % 1000}.portside-customer.test`;
    try {
      const client = new Client(served.url, apiKey);
      await Array.fromAsync(client.deploy("own-killed", nodeSource(helloServer("own"))));
      await addDomain(client, surroundings, domain, "own-killed");
      await client.post("/v1/domain/check", { domain });
      await sleep(random() * 3000);
      if (random() < 0.5) await killServer(served);
      else {
        await kill(served, true);
        served = await start();
      }
      await untilCertified(new Client(served.url, apiKey), domain);
      expect((await sendTls(await surroundings.tls(), domain)).text).toBe("own");
    } finally {
      await end(served);
    }
    expect(ordersIn(dataDir)).toBeLessThanOrEqual(2);
  },
);
