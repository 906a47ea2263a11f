/** The TLS servers of certificates: one for each known host, and none for names that clients invent. */
import { X509Certificate } from "node:crypto";
import { createServer } from "node:tls";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Certificate,
  type CertificateSource,
  Certificates,
  handshakeSettings,
  hostOf,
} from "../../../../adapters/local/tls/certificates.ts";
import { ServedHosts } from "../../../../adapters/local/tls/served-hosts.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { instantOfMillis, millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Logger } from "../../../../core/ports/system.ts";
import { recordingLogger, silentLogger } from "../../../support/logs/silent-logger.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";

const authority = createTestAuthority();

const certificatesOf = (source: CertificateSource, deps: { logger?: Logger; max?: number } = {}) =>
  new Certificates({
    source,
    logger: silentLogger,
    createServer: ({ chain, key }) => createServer({ ...handshakeSettings, cert: chain, key: key() }),
    ...deps,
  });

test("creates a server once, and again when the certificate has changed", () => {
  const known = new Map<string, Certificate>([["a.example", authority.issue("a.example")]]);
  const certificates = certificatesOf({ find: (host) => known.get(host), fallback: undefined });
  const first = certificates.find("a.example");
  expect(certificates.find("A.Example.")).toBe(first);
  known.set("a.example", authority.issue("a.example"));
  const second = certificates.find("a.example");
  expect(second).not.toBe(first);
  certificates.clear();
  expect(certificates.find("a.example")).not.toBe(second);
  known.clear();
  expect(certificates.find("a.example")).toBeUndefined();
  expect(certificates.size).toBe(0);
});

test("drops the server that was used least recently", () => {
  const certificate = authority.issue("*.example");
  const certificates = certificatesOf({ find: () => certificate, fallback: undefined }, { max: 2 });
  const [a] = [certificates.find("a.example"), certificates.find("b.example")];
  expect(certificates.find("a.example")).toBe(a);
  certificates.find("c.example");
  expect(certificates.size).toBe(2);
  expect(certificates.find("a.example")).toBe(a);
});

test("creates no server for names without a certificate", () => {
  const certificates = certificatesOf({ find: () => undefined, fallback: authority.issue("x.example") });
  // The only name that the fallback contains.
  const known = (name: string) => hostOf(name) === "x.example";
  const names = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.domain(),
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom("a\0.example", "..", ".", "x.example\0", "A".repeat(70_000)),
  );
  fc.assert(
    fc.property(names, (name) => {
      expect(certificates.find(name)).toBe(known(name) ? certificates.find(undefined) : undefined);
      expect(certificates.size).toBe(0);
      expect(hostOf(name) ?? "").toMatch(/^[a-z0-9._-]*$/);
    }),
  );
});

test("uses the fallback, and logs the host, if a certificate cannot be used", () => {
  const { logger, logged } = recordingLogger();
  const broken: Certificate = { chain: "damaged", key: () => "damaged" };
  const fallback = authority.issue("a.example");
  const certificates = certificatesOf({ find: () => broken, fallback }, { logger });
  expect(certificates.find("a.example")).toBe(certificates.find(undefined));
  certificates.find("a.example");
  expect(logged.filter((line) => line.includes("a certificate cannot be used"))).toHaveLength(1);
});

test("covers the hosts of its certificates and of the fallback", () => {
  const known = new Map([["a.example", authority.issue("a.example")]]);
  const source = { find: (host: string) => known.get(host), fallback: authority.issue("*.apps.example") };
  const certificates = certificatesOf(source);
  expect(
    ["a.example", "one.apps.example", "b.example", "a.one.apps.example", "127.0.0.1", ""].filter((host) =>
      certificates.covers(host),
    ),
  ).toEqual(["a.example", "one.apps.example"]);
});

test("presents the operator's certificate instead of an expired one that it covers", async () => {
  const clock = createManualClock();
  const issued = authority.issue("a.apps.example", "a.example");
  const fallback = authority.issue("*.apps.example");
  const hosts = new ServedHosts({ openKey: () => issued.privateKey, fallback: () => fallback, clock });
  const key = Buffer.from("sealed");
  const stored = ["a.apps.example", "a.example"].map((name) => ({
    host: name as DomainName,
    chain: issued.chain,
    key,
  }));
  hosts.apply({ routes: [], certificates: stored, challenges: [] });
  const certificates = certificatesOf(hosts);
  const end = instantOfMillis(new X509Certificate(issued.chain).validToDate.getTime());
  const isFallback = (host: string) => certificates.find(host) === certificates.find(undefined);
  await clock.advance(millisOf(end) - millisOf(clock.now()) - 1);
  expect(["a.apps.example", "a.example"].map(isFallback)).toEqual([false, false]);
  await clock.advance(1);
  expect(["a.apps.example", "a.example"].map(isFallback)).toEqual([true, false]);
  expect(certificates.covers("a.example")).toBe(true);
});

test("keeps a stored certificate as the same object until it changes", () => {
  const hosts = new ServedHosts({
    openKey: (_host, sealed) => Buffer.from(sealed).toString(),
    fallback: () => undefined,
    clock: createSystemClock(),
  });
  const host = "a.example" as DomainName;
  const stored = (key: string) => ({ host, chain: "chain", key: Buffer.from(key) });
  const state = (key: string) => ({ routes: [], certificates: [stored(key)], challenges: [] });
  hosts.apply(state("one"));
  const first = hosts.find(host);
  hosts.apply(state("one"));
  expect(hosts.find(host)).toBe(first);
  hosts.apply(state("two"));
  expect(hosts.find(host)).not.toBe(first);
  expect(hosts.find(host)?.key()).toBe("two");
  const challenge = { host, token: "t", keyAuthorization: "t.k" };
  hosts.apply({ ...state("two"), challenges: [{ ...challenge, type: "http-01" }] });
  expect([hosts.challengeAnswer(host, "t"), hosts.challengeAnswer(host, "u")]).toEqual(["t.k", undefined]);
  expect(hosts.challengeCertificate(host)).toBeUndefined();
  hosts.apply({ ...state("two"), challenges: [{ ...challenge, type: "tls-alpn-01" }] });
  const answer = hosts.challengeCertificate(host);
  expect(answer?.chain).toContain("BEGIN CERTIFICATE");
  hosts.apply({ ...state("two"), challenges: [{ ...challenge, type: "tls-alpn-01" }] });
  expect(hosts.challengeCertificate(host)).toBe(answer);
  expect(hosts.challengeAnswer(host, "t")).toBeUndefined();
});
