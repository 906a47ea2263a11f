/** Which certificates and challenges follow from the settings. */
import { expect, test } from "vitest";
import { challengeTypesOf, orderedBelow } from "../../../../adapters/local/domains/settings.ts";
import { createLocalProvider } from "../../../../adapters/local/index.ts";
import { readDomain } from "../../../../adapters/local/ingress/domain.ts";
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

test("without the HTTP port, authorities validate over TLS", () => {
  expect(challengeTypesOf(undefined)).toEqual(["tls-alpn-01"]);
  expect(challengeTypesOf(80)).toEqual(["http-01", "tls-alpn-01"]);
});
