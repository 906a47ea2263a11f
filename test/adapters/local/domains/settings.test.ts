/** Which certificates and challenges follow from the settings. */
import { expect, test } from "vitest";
import { certificatesBelow, challengeTypesOf } from "../../../../adapters/local/domains/settings.ts";
import { readDomain } from "../../../../adapters/local/ingress/domain.ts";

test("without the HTTP port, authorities validate over TLS", () => {
  expect(challengeTypesOf(undefined)).toEqual(["tls-alpn-01"]);
  expect(challengeTypesOf(80)).toEqual(["http-01", "tls-alpn-01"]);
});

test("deployments get own certificates unless a proxy or --tls-cert has one for all", () => {
  const domain = readDomain("apps.example.com");
  expect(certificatesBelow(domain, {})).toBe("apps.example.com");
  expect(certificatesBelow(domain, { tlsCert: "wildcard.pem" })).toBeUndefined();
  expect(certificatesBelow(readDomain("https://apps.example.com"), {})).toBeUndefined();
  expect(certificatesBelow(undefined, {})).toBeUndefined();
});
