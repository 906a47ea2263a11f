/** Which certificates and challenges follow from the settings. */
import { expect, test } from "vitest";
import { localConfigSchema } from "../../../../adapters/local/config.ts";
import { diagnoseLocal } from "../../../../adapters/local/doctor.ts";
import {
  challengeTypesOf,
  type Interfaces,
  localTarget,
  orderedBelow,
} from "../../../../adapters/local/domains/settings.ts";
import { createLocalProvider } from "../../../../adapters/local/index.ts";
import { readDomain } from "../../../../adapters/local/ingress/domain.ts";
import { httpsUrlOf } from "../../../../hosts/cli/server/listen-for-api.ts";
import { folderWith } from "../../../support/archives/folders.ts";

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

test("without --acme-email, the provider orders no certificates, and with it the storage gets one, too", async () => {
  using folder = folderWith();
  const config = {
    ...{ dataDir: folder.path, runner: "process" as const, ingressPort: 0, tlsPort: 0, domain: "d2-settings.example" },
    publicAddress: ["192.0.2.1"],
  };
  {
    const local = await createLocalProvider(config);
    expect(local.provider.domains).toBeUndefined();
    await local.close();
  }
  const local = await createLocalProvider({ ...config, acmeEmail: "ops@example.com" });
  const hosts = (await local.provider.domains?.certificates?.store.hosts())?._unsafeUnwrap();
  expect(hosts).toEqual([{ host: "storage.d2-settings.example", account: "portside:platform", isOwn: false }]);
  await local.close();
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
  [{ host: "0.0.0.0", publicAddress: ["2a00::2"] }, ["2a00::2"]],
])("with %j, custom domains must point to %j", (given, addresses) => {
  expect(localTarget(settingsWith(given), undefined, interfaces).addresses).toEqual(addresses);
});

test("the doctor fails for a machine without a public address that shall order certificates", async () => {
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
