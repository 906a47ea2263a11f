/** Checks of issued chains, and the certificate identifiers of RFC 9773. */
import { createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { chainProblem } from "../../../../adapters/acme/domains/certificate-chain.ts";
import { adviceOf, certificateId, renewalInfoSchema } from "../../../../adapters/acme/domains/renewal-information.ts";
import { signCertificate } from "../../../../adapters/shared/domains/x509.ts";
import { instantOfMillis, plusMillis } from "../../../../core/domain/wire/instant.ts";

const now = instantOfMillis(Date.UTC(2026, 2, 1));
const newKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const pem = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString();

const authority = newKey();
const key = newKey();
const sign = (publicKey: KeyObject, hosts: readonly string[], issuerKey = authority) =>
  signCertificate({
    publicKey: createPublicKey(publicKey),
    hosts,
    issuer: "Root",
    issuerKey,
    from: now,
    until: plusMillis(now, 1000),
    ...(hosts.length === 0 ? { subject: "Root" } : {}),
  });
const root = sign(authority, []);
const expected = { host: "app.example.com", key: pem(key), now };

test("accepts a chain for the host and the key", () => {
  expect(chainProblem(sign(key, ["app.example.com"]) + root, expected)).toBeUndefined();
});

test.each([
  ["is empty", "", "not a chain"],
  ["is not PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "not a chain"],
  ["is too long", sign(key, ["app.example.com"]) + root.repeat(10), "not a chain"],
  ["has another key", sign(newKey(), ["app.example.com"]) + root, "key"],
  ["has another host", sign(key, ["b.example.com"]) + root, "not valid for 'app.example.com'"],
  ["is signed by another key", sign(key, ["app.example.com"], newKey()) + root, "not signed"],
])("rejects a chain that %s", (_, chain, problem) => {
  expect(chainProblem(chain, expected)).toContain(problem);
});

test("rejects a chain that has expired", () => {
  const chain = sign(key, ["app.example.com"]) + root;
  const { validToDate } = new X509Certificate(chain);
  const expiry = instantOfMillis(validToDate.getTime());
  expect(chainProblem(chain, { ...expected, now: plusMillis(expiry, -1000) })).toBeUndefined();
  expect(chainProblem(chain, { ...expected, now: expiry })).toContain("expired");
});

test("identifies the example certificate of RFC 9773, appendix A", () => {
  const example = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`;
  expect(certificateId(example)).toBe("aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE");
});

test("identifies a certificate whose key identifier is not its first extension", () => {
  const certificate = sign(key, ["app.example.com"]);
  const serial = Buffer.from(new X509Certificate(certificate).serialNumber, "hex").toString("base64url");
  expect(certificateId(certificate + root)).toMatch(new RegExp(`^[\\w-]{27}\\.${serial}$`));
  expect(certificateId("not a certificate")).toBeUndefined();
});

test.each([
  [null, 6 * 3_600_000],
  [7_200_000, 7_200_000],
])("asks for advice again after a delay of %s ms", (retryAfterMs, expectedMs) => {
  const window = { start: "2026-03-02T00:00:00Z", end: "2026-03-03T00:00:00Z" };
  const info = renewalInfoSchema.parse({ suggestedWindow: window });
  expect(adviceOf(info, retryAfterMs, now).askAgainAt).toBe(plusMillis(now, expectedMs));
});
