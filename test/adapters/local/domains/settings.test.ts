/** Which certificates and challenges follow from the settings. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { localConfigSchema } from "../../../../adapters/local/config.ts";
import { diagnoseLocal } from "../../../../adapters/local/doctor.ts";
import {
  challengeTypesOf,
  hasApiCertificate,
  type Interfaces,
  localTarget,
  orderedBelow,
} from "../../../../adapters/local/domains/settings.ts";
import { createLocalProvider } from "../../../../adapters/local/index.ts";
import { readDomain } from "../../../../adapters/local/ingress/domain.ts";
import { httpsUrlOf } from "../../../../hosts/cli/server/listen-for-api.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";

test.each([
  [{ tlsPort: 443 }, "apps.example.com", "apps.example.com"],
  [{ tlsPort: 0 }, "apps.example.com", "apps.example.com"],
  [{ tlsPort: 443 }, undefined, undefined],
  [{}, "apps.example.com", undefined],
  [{ tlsPort: 443, tlsCert: "cert.pem" }, "apps.example.com", undefined],
  [{ tlsPort: 443 }, "https://apps.example.com", undefined],
])("with %j and the domain %s, certificates are ordered below %s", (settings, domain, expected) => {
  expect(orderedBelow(settings, domain === undefined ? undefined : readDomain(domain))).toBe(expected);
});

test("the API has a certificate if --tls-cert contains the domain, or with ACME if --tls-cert is not set", () => {
  const of = (given: object, domain: string, ...hosts: string[]) =>
    hasApiCertificate(
      { tlsPort: 443, ...given } as Parameters<typeof hasApiCertificate>[0],
      readDomain(domain),
      hosts.length === 0 ? undefined : createTestAuthority().issue(...hosts),
    );
  const acme = { acmeEmail: "ops@example.com" };
  expect(of({}, "apps.example.com")).toBe(false);
  expect(of(acme, "apps.example.com")).toBe(true);
  expect(of(acme, "https://apps.example.com")).toBe(false);
  expect(of({ tlsCert: "cert.pem" }, "apps.example.com", "*.apps.example.com", "apps.example.com")).toBe(true);
  expect(of({ tlsCert: "cert.pem" }, "apps.example.com", "*.example.com")).toBe(true);
  expect(of({ tlsCert: "cert.pem", ...acme }, "apps.example.com", "*.apps.example.com")).toBe(false);
});

test("with --acme-email, the storage and the API get certificates, too; without it, the provider orders none", async () => {
  using folder = folderWith();
  const config = {
    dataDir: folder.path,
    runner: "process" as const,
    ingressPort: 0,
    tlsPort: 0,
    domain: "d2-settings.example",
    publicAddress: ["192.0.2.1"],
  };
  {
    const local = await createLocalProvider(config);
    expect(local.provider.domains).toBeUndefined();
    await local.close();
  }
  const platforms = { account: "portside:platform", isOwn: false };
  const storage = { host: "storage.d2-settings.example", ...platforms };
  for (const [deps, expected] of [
    [{}, [storage]],
    [{ onApiConnection: () => undefined }, [storage, { host: "d2-settings.example", ...platforms }]],
  ] as const) {
    const local = await createLocalProvider({ ...config, acmeEmail: "ops@example.com" }, deps);
    expect((await local.provider.domains?.certificates?.store.hosts())?._unsafeUnwrap()).toEqual(expected);
    expect(local.httpsApi === undefined).toBe(expected.length === 1);
    await local.close();
  }
});

const interfaces = Object.fromEntries(
  [
    ["IPv4", "198.51.0.1"],
    ["IPv6", "2a00::1"],
    ["IPv4", "10.0.0.1"],
  ].map(([family, address]) => [address, [{ family, address }]]),
) as unknown as Interfaces;

const settingsWith = (given: object) =>
  localConfigSchema.parse({ dataDir: "unused", tlsPort: 443, acmeEmail: "ops@example.com", ...given });

test.each([
  [{ host: "0.0.0.0" }, ["198.51.0.1"]],
  [{ host: "::" }, ["198.51.0.1", "2a00::1"]],
  [{ host: "127.0.0.1" }, ["198.51.0.1", "2a00::1"]],
  [{ host: "2a00::1" }, ["2a00::1"]],
  [{ tlsHost: "0.0.0.0" }, ["198.51.0.1"]],
  [{ host: "0.0.0.0", tlsHost: "2a00::1" }, ["2a00::1"]],
  [{ host: "0.0.0.0", publicAddress: ["2a00::2"] }, ["2a00::2"]],
])("with %j, custom domains must point to %j", (given, addresses) => {
  expect(localTarget(settingsWith(given), undefined, interfaces).addresses).toEqual(addresses);
});

test("the doctor fails if a machine that orders certificates has no public address", async () => {
  using folder = folderWith();
  const find = async (given: object, found: Interfaces) => {
    const settings = settingsWith({ dataDir: folder.path, runner: "process", tlsPort: 0, ...given });
    for await (const finding of diagnoseLocal(settings, process.env, found))
      if (finding.what === "public address") return finding;
    return undefined;
  };
  const nothing = { lo: [] };
  const failed = await find({}, nothing);
  expect([failed?.verdict, failed?.fix]).toEqual(["missing", "portside serve --public-address ADDRESS"]);
  expect((await find({ publicAddress: ["198.51.0.1"] }, nothing))?.verdict).toBe("ok");
  expect((await find({}, interfaces))?.verdict).toBe("ok");
  expect(await find({ acmeEmail: undefined }, nothing)).toBeUndefined();
});

test("the doctor fails if the TLS port gets no certificates", async () => {
  using folder = folderWith();
  const find = async (given: object) => {
    const settings = settingsWith({ dataDir: folder.path, runner: "process", tlsPort: 0, ...given });
    for await (const finding of diagnoseLocal(settings, process.env, interfaces))
      if (finding.what === "certificates") return finding;
    return undefined;
  };
  expect((await find({ acmeEmail: undefined }))?.verdict).toBe("missing");
  expect(await find({})).toBeUndefined();
});

test("the doctor warns about a certificate that lacks a name, and fails if it is not valid yet", async () => {
  using folder = folderWith();
  let validity = { fromDays: -1, untilDays: 89 };
  const find = async (...hosts: readonly string[]) => {
    const { chain, privateKey } = createTestAuthority(validity).issue(...hosts);
    const paths = { tlsCert: join(folder.path, "cert.pem"), tlsKey: join(folder.path, "key.pem") };
    writeFileSync(paths.tlsCert, chain);
    writeFileSync(paths.tlsKey, privateKey);
    const given = { ...paths, dataDir: folder.path, runner: "process", tlsPort: 0, acmeEmail: undefined };
    for await (const finding of diagnoseLocal(settingsWith({ ...given, domain: "apps.example.com" }), process.env))
      if (finding.what.startsWith("certificate")) return finding;
    return undefined;
  };
  expect((await find("*.apps.example.com", "apps.example.com"))?.verdict).toBe("ok");
  const warned = await find("*.apps.example.com");
  expect([warned?.verdict, warned?.words]).toEqual([
    "warning",
    expect.stringContaining("not contain apps.example.com"),
  ]);
  const unusable = await find("apps.example.com");
  expect([unusable?.verdict, unusable?.words]).toEqual([
    "warning",
    expect.stringContaining("not contain *.apps.example.com, so browsers reject the URLs of deployments"),
  ]);
  validity = { fromDays: -1, untilDays: 2 };
  expect((await find("*.apps.example.com"))?.words).toContain("not contain apps.example.com");
  expect((await find("*.apps.example.com", "apps.example.com"))?.fix).toContain("Renew the certificate");
  validity = { fromDays: 2, untilDays: 89 };
  const future = await find("*.apps.example.com", "apps.example.com");
  expect([future?.verdict, future?.words]).toEqual(["missing", expect.stringContaining("not valid before ")]);
});

test.each([
  [undefined, 443, "https://DOMAIN"],
  [undefined, 8443, "https://DOMAIN:8443"],
  ["apps.example.com", 443, "https://NAME.apps.example.com"],
  ["https://apps.example.com", 8443, "https://NAME.apps.example.com:8443"],
  ["apps.example.com", undefined, undefined],
])("with the domain %s and the port %s, serve prints %s", (domain, port, url) => {
  expect(httpsUrlOf({ domain }, port)).toBe(url);
});

test("without the HTTP port, authorities validate over TLS", () => {
  expect(challengeTypesOf(undefined)).toEqual(["tls-alpn-01"]);
  expect(challengeTypesOf(80)).toEqual(["http-01", "tls-alpn-01"]);
});
