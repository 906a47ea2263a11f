/** A certificate authority of the test, which signs certificates for any host. */
import { generateKeyPairSync } from "node:crypto";
import type { Certificate } from "../../../adapters/local/tls/certificates.ts";
import { signCertificate } from "../../../adapters/shared/domains/x509.ts";
import { type Instant, instantOfMillis } from "../../../core/domain/wire/instant.ts";

const DAY_MS = 86_400_000;
const from = (days: number): Instant => instantOfMillis(Date.now() + days * DAY_MS);

export interface TestCertificate extends Certificate {
  readonly privateKey: string;
}

export interface TestAuthority {
  /** The certificate of the authority in PEM, which clients must trust. */
  readonly ca: string;
  issue(...hosts: readonly string[]): TestCertificate;
}

const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

/** The validity period of all certificates, in days from now. */
const VALIDITY = { fromDays: -1, untilDays: 89 };

export const createTestAuthority = ({ fromDays, untilDays } = VALIDITY): TestAuthority => {
  const root = newKeys();
  const issuer = "Test authority";
  const common = { issuer, issuerKey: root.privateKey, from: from(fromDays), until: from(untilDays) };
  const ca = signCertificate({ ...common, subject: issuer, publicKey: root.publicKey, hosts: [] });
  return {
    ca,
    issue: (...hosts) => {
      const { publicKey, privateKey } = newKeys();
      const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      return { chain: signCertificate({ ...common, publicKey, hosts }), key: () => key, privateKey: key };
    },
  };
};
