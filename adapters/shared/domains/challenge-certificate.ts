/** The certificate that answers the challenge `tls-alpn-01`: RFC 8737, section 3. */
import { createHash, generateKeyPairSync } from "node:crypto";
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import { octetString } from "./der.ts";
import { extension, signCertificate } from "./x509.ts";

/** The ALPN protocol that the authority's TLS client offers. */
export const CHALLENGE_PROTOCOL = "acme-tls/1";

const ACME_IDENTIFIER = "1.3.6.1.5.5.7.1.31";
const DAY_MS = 86_400_000;

/**
 * Creates a self-signed certificate for the host with a hash of the key authorization. Returns it and its private key
 * in PEM. The listener must present it to clients that offer only `CHALLENGE_PROTOCOL`, and then close the connection.
 */
export const createChallengeCertificate = (
  host: string,
  keyAuthorization: string,
  now: Instant,
): { readonly certificate: string; readonly key: string } => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const hash = createHash("sha256").update(keyAuthorization).digest();
  const certificate = signCertificate({
    subject: "ACME challenge",
    issuer: "ACME challenge",
    issuerKey: privateKey,
    publicKey,
    hosts: [host],
    from: plusMillis(now, -DAY_MS),
    until: plusMillis(now, DAY_MS),
    extensions: [extension(ACME_IDENTIFIER, true, octetString(hash))],
  });
  return { certificate, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
};
