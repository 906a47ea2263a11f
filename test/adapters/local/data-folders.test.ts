/** Opens data folders of earlier versions and serves everything in them. */
import { createHash, X509Certificate } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { extract } from "tar";
import { describe, expect, test } from "vitest";
import { openState } from "../../../adapters/local/state/database.ts";
import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import type { ControlPlane } from "../../../core/control-plane.ts";
import type { Principal } from "../../../core/domain/accounts/account.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import type { NextCertificate } from "../../../core/ports/certificate-store.ts";
import { folderWith } from "../../support/archives/folders.ts";
import { shiftedClock } from "../../support/clocks/shifted-clock.ts";
import { type LocalOptions, runners, startLocalIn, type TestPlatform } from "../../support/providers/local-platform.ts";
import { handshake } from "../../support/tls/tls-clients.ts";
import { eventually } from "../../support/vitest/eventually.ts";

const fixtures = join(import.meta.dirname, "..", "..", "fixtures", "data-folders");
const names = readdirSync(fixtures).flatMap((file) => (file.endsWith(".tar.gz") ? [file.slice(0, -7)] : []));

interface StoredObject {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** The output of `make.ts` about the folder. */
interface Content {
  /** The time at which the server was killed. */
  readonly at: string;
  readonly keys: Readonly<Record<"default" | "globex", string>>;
  readonly services: readonly {
    readonly account: "default" | "globex";
    readonly name: string;
    readonly answer: string;
    readonly port: number;
  }[];
  readonly schedule: { readonly cron: string; readonly timezone: string };
  readonly objects: Readonly<Record<"kept" | "trashed", readonly StoredObject[]>>;
  readonly trash: readonly { readonly name: string; readonly id: string }[];
  readonly freed: string;
  /** The newest release of `keeper`; absent if the version had no releases. */
  readonly releases?: number;
  /** The custom domain of `keeper`, with its certificate; absent if the version had none. */
  readonly certificate?: {
    readonly domain: DomainName;
    readonly chain: string;
    readonly notAfter: string;
    readonly reason: string;
    readonly next: NextCertificate;
  };
  readonly billing: readonly { readonly name: string; readonly amount: number }[];
  readonly logs: {
    readonly page: { readonly lines: readonly string[]; readonly cursor: string };
    readonly rest: readonly string[];
    readonly errorFilter: string;
    readonly errors: readonly string[];
  };
}

const contentOf = (name: string): Content => JSON.parse(readFileSync(join(fixtures, `${name}.json`), "utf8"));

const unpack = async (name: string) => {
  const folder = folderWith();
  await extract({ file: join(fixtures, `${name}.tar.gz`), cwd: folder.path });
  return folder;
};

/** Trash, freed names and logs expire, so the clock starts at the time of the fixture. */
const clockAt = (at: string) => {
  const clock = shiftedClock(createSystemClock());
  clock.set(Date.parse(at) - Date.now());
  return clock;
};

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });

const principals = async (controlPlane: ControlPlane, { keys }: Content) => {
  const of = async (key: string) => (await controlPlane.authenticate({ apiKey: key }))._unsafeUnwrap();
  return { default: await of(keys.default), globex: await of(keys.globex) };
};

const downloaded = async ({ controlPlane }: TestPlatform, owner: Principal, volume: string) => {
  const { objects } = (await controlPlane.listObjects(owner, { volume }))._unsafeUnwrap();
  return Promise.all(
    objects.map(async ({ path, size }) => {
      const { url } = (await controlPlane.grantDownload(owner, { volume, path }))._unsafeUnwrap();
      const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
      return { path, size, sha256: createHash("sha256").update(bytes).digest("hex") };
    }),
  );
};

const byPath = (objects: readonly StoredObject[]) => [...objects].sort((a, b) => (a.path < b.path ? -1 : 1));

const linesOf = async ({ controlPlane }: TestPlatform, owner: Principal, about: object): Promise<string[]> => {
  const page = (await controlPlane.readLogs(owner, { deployment_name: "keeper", ...about }))._unsafeUnwrap();
  return page.logs.map(({ timestamp, severity, message }) => `${timestamp} ${severity} ${message}`);
};

const lastFire = { at: "2026-11-22T03:30:00+00:00", status: 500, attempts: 4 };

/** No schedule of the fixtures has fired. Earlier versions stored the latest fire in the state. */
const storeLastFire = (folder: string): void => {
  using db = openState(folder);
  const { changes } = db
    .prepare("UPDATE schedules SET last_fire = ? WHERE name = 'keeper'")
    .run(JSON.stringify(lastFire));
  expect(changes).toBe(1);
};

const servesAll = async (platform: TestPlatform, content: Content) => {
  const { controlPlane } = platform;
  const accounts = await principals(controlPlane, content);
  for (const account of ["default", "globex"] as const) {
    const listed = (await controlPlane.listDeployments(accounts[account]))._unsafeUnwrap();
    const expected = content.services.filter((service) => service.account === account);
    expect(listed.map(({ name }) => name)).toEqual(expected.map(({ name }) => name).sort());
    for (const { name, answer } of expected) {
      const deployment = listed.find((one) => one.name === name);
      expect(await (await fetch(deployment?.url as string)).text()).toBe(answer);
      expect(deployment?.last_deploy?.reason).toBe(name === "worker" ? "interrupted" : null);
      const { releases } = (await controlPlane.listReleases(accounts[account], { name }))._unsafeUnwrap();
      const serving = { status: "serving", revision: deployment?.revision };
      // If the version had no releases, the revision that served when the folder was migrated is the first one.
      if (content.releases === undefined)
        expect(releases).toMatchObject([{ ...serving, release: 1, created_by: { kind: "platform" } }]);
      else
        expect(releases[0]).toMatchObject({
          ...serving,
          release: name === "keeper" ? content.releases : 1,
          created_by: { kind: "key" },
        });
      if (name === "keeper")
        expect(deployment).toMatchObject({ schedule: content.schedule, env: ["COLOUR"], cron: { last: lastFire } });
    }
  }
  expect(await downloaded(platform, accounts.default, "kept")).toEqual(byPath(content.objects.kept));
  const { page, rest, errorFilter, errors } = content.logs;
  const first = { since: "2000-01-01T00:00:00Z", limit: page.lines.length };
  expect(await linesOf(platform, accounts.default, first)).toEqual(page.lines);
  const next = { since: page.cursor, limit: rest.length };
  expect(await linesOf(platform, accounts.default, next)).toEqual(rest);
  expect(await linesOf(platform, accounts.default, { query: errorFilter })).toEqual(errors);
  const freed = async (owner: Principal) =>
    (await controlPlane.checkName(owner, { name: content.freed }))._unsafeUnwrap().available;
  expect([await freed(accounts.default), await freed(accounts.globex)]).toEqual([true, false]);
  return accounts;
};

const query =
  "SELECT resource.name AS name, CAST(usage.amount AS FLOAT64) AS amount FROM billing WHERE usage.unit = 'request'";

describe.each(names)("the data folder of %s", (name) => {
  test.each(runners)("is served completely with the runner %s, and again at the second start", async (runner) => {
    using folder = await unpack(name);
    storeLastFire(folder.path);
    const content = contentOf(name);
    const clock = clockAt(content.at);
    const free = new Map<string, boolean>();
    for (const service of content.services) free.set(service.name, await isFree(service.port));
    const open = () => startLocalIn(folder.path, { runner }, {}, { clock });
    {
      await using platform = await open();
      const before = await principals(platform.controlPlane, content);
      const deployments = (await platform.controlPlane.listDeployments(before.default))._unsafeUnwrap();
      for (const { name: service, port, account } of content.services)
        if (account === "default" && free.get(service))
          expect(deployments.find((one) => one.name === service)?.url).toBe(`http://127.0.0.1:${port}`);
      const rows = (await platform.controlPlane.runSql(before.default, { query }))._unsafeUnwrap().rows;
      expect(rows).toEqual(
        expect.arrayContaining(content.billing.map(({ name: service, amount }) => [service, amount])),
      );
      const accounts = await servesAll(platform, content);
      const trash = (await platform.controlPlane.listTrash(accounts.default))._unsafeUnwrap();
      expect(trash).toEqual(content.trash);
    }
    await using platform = await open();
    const accounts = await servesAll(platform, content);
    const [{ name: volume = "", id } = {}] = content.trash;
    expect((await platform.controlPlane.restoreVolume(accounts.default, { name: volume }))._unsafeUnwrap().id).toBe(id);
    expect(await downloaded(platform, accounts.default, volume)).toEqual(byPath(content.objects.trashed));
    await eventually(async () => {
      const rows = platform.local.billing.ofAccount(accounts.default.account);
      const requests = rows.filter(({ usage }) => usage.unit === "request");
      for (const { name: service, amount } of content.billing)
        expect(requests.find(({ resource }) => resource.name === service)?.usage.amount).toBe(String(amount + 2));
    });
  });
});

const withCertificates = names.filter((name) => contentOf(name).certificate !== undefined);

test("a data folder has a certificate", () => expect(withCertificates).not.toEqual([]));

test.each(withCertificates)("the domain and the certificate of %s are served", async (name) => {
  using folder = await unpack(name);
  const content = contentOf(name);
  const { domain, chain, notAfter, reason, next } = content.certificate as NonNullable<Content["certificate"]>;
  const config: LocalOptions = {
    runner: "process",
    tlsPort: 0,
    acmeEmail: "ops@example.com",
    publicAddress: ["192.0.2.1"],
  };
  await using platform = await startLocalIn(folder.path, config, {}, { clock: clockAt(content.at) });
  const { controlPlane, local } = platform;
  const accounts = await principals(controlPlane, content);
  const [row, ...others] = (await controlPlane.listDomains(accounts.default))._unsafeUnwrap();
  expect(others).toEqual([]);
  expect(row).toMatchObject({
    domain,
    name: "keeper",
    status: "failing",
    certificate: { not_after: notAfter },
    // The stored time of the next attempt exceeds the longest pause, so it does not delay the attempt.
    detail: expect.stringContaining(`its renewal is failing. ${reason} The next attempt begins soon.`),
  });
  expect((await controlPlane.listDomains(accounts.globex))._unsafeUnwrap()).toEqual([]);
  const store = local.provider.domains?.certificates?.store;
  expect((await store?.next(domain))?._unsafeUnwrap()).toEqual(next);
  expect((await store?.hosts())?._unsafeUnwrap()).toMatchObject([{ host: domain, isOwn: true }]);
  const target = { port: local.tlsPort as number, ca: chain };
  const socket = await handshake(target, domain, { rejectUnauthorized: false });
  expect(socket.getPeerX509Certificate()?.toString()).toBe(new X509Certificate(chain).toString());
  socket.destroy();
});
