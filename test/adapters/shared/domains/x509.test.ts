/** Certificates and requests, as Node and OpenSSL read them. */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { createChallengeCertificate } from "../../../../adapters/shared/domains/challenge-certificate.ts";
import { certificateRequest, signCertificate } from "../../../../adapters/shared/domains/x509.ts";
import { instantOfMillis } from "../../../../core/domain/wire/instant.ts";
import { needs } from "../../../support/vitest/machine.ts";

const day = (day: number) => instantOfMillis(Date.UTC(2026, 0, day));
const ecKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsaKey = () => generateKeyPairSync("rsa", { modulusLength: 2048 });

const rootOf = (key: { publicKey: KeyObject; privateKey: KeyObject }, from = day(1), until = day(30)) =>
  signCertificate({
    subject: "Test root",
    issuer: "Test root",
    issuerKey: key.privateKey,
    publicKey: key.publicKey,
    hosts: [],
    from,
    until,
  });

test.each([
  ["EC", ecKey],
  ["RSA", rsaKey],
])("an %s authority signs a certificate for hosts", (_, generate) => {
  const [authority, host] = [generate(), generate()];
  const root = new X509Certificate(rootOf(authority));
  const leaf = new X509Certificate(
    signCertificate({
      issuer: "Test root",
      issuerKey: authority.privateKey,
      publicKey: host.publicKey,
      hosts: ["a.example.com", "b.example.com"],
      from: day(2),
      until: day(20),
    }),
  );
  expect(root.ca).toBe(true);
  expect(root.verify(authority.publicKey)).toBe(true);
  expect(leaf.ca).toBe(false);
  expect(leaf.checkIssued(root)).toBe(true);
  expect(leaf.verify(authority.publicKey)).toBe(true);
  expect(leaf.checkPrivateKey(host.privateKey)).toBe(true);
  expect(leaf.checkHost("b.example.com")).toBe("b.example.com");
  expect(leaf.checkHost("c.example.com")).toBeUndefined();
  expect([leaf.validFromDate, leaf.validToDate]).toEqual([new Date("2026-01-02"), new Date("2026-01-20")]);
});

test.for([["EC", ecKey] as const, ["RSA", rsaKey] as const])(
  "OpenSSL accepts a request with an %s key",
  ([, generate], context) => {
    needs(context, "openssl");
    const { privateKey } = generate();
    const text = execFileSync("openssl", ["req", "-inform", "DER", "-noout", "-text", "-verify"], {
      input: certificateRequest("a.example.com", privateKey),
      stdio: ["pipe", "pipe", "pipe"],
    }).toString();
    expect(text).toContain("DNS:a.example.com");
  },
);

test("a TLS client of the authority finds the hash of the key authorization", async () => {
  const { certificate, key } = createChallengeCertificate(
    "a.example.com",
    "token.thumbprint",
    instantOfMillis(Date.now()),
  );
  const server = createServer({ cert: certificate, key, ALPNProtocols: ["acme-tls/1"] });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const client: TLSSocket = connect({
    port,
    host: "127.0.0.1",
    servername: "a.example.com",
    ALPNProtocols: ["acme-tls/1"],
    rejectUnauthorized: false,
  });
  await once(client, "secureConnect");
  expect(client.alpnProtocol).toBe("acme-tls/1");
  const presented = client.getPeerX509Certificate();
  client.destroy();
  server.close();
  expect(presented?.verify(presented.publicKey)).toBe(true);
  expect(presented?.subjectAltName).toBe("DNS:a.example.com");
  // The critical extension and the hash of "token.thumbprint", from RFC 8737 and sha256sum.
  const hash = "eb5ac167fe249c76e53b430da3116c5d9fde4c5507ba6d01e885516e1bd49f92";
  expect(presented?.raw.toString("hex")).toContain(`06082b0601050507011f0101ff04220420${hash}`);
});
