/** Checks the chain that an authority returns. */
import { createPublicKey, X509Certificate } from "node:crypto";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";

const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** No real chain is longer. */
const MAX_CERTIFICATES = 10;

const parse = (pem: string): readonly X509Certificate[] | undefined =>
  tryOr(() => (pem.match(BLOCK) ?? []).map((block) => new X509Certificate(block)), undefined);

/** A machine whose clock shows local time differs by hours, and its certificates are valid nevertheless. */
const MAX_START_DELAY_MS = 24 * 3_600_000;

/** Returns the first certificate of a chain in PEM, or undefined if the text contains no certificate. */
export const leafOf = (pem: string): X509Certificate | undefined => parse(pem)?.[0];

/** The host and the key that a chain must certify. */
export interface ExpectedCertificate {
  readonly host: string;
  /** The private key in PEM. */
  readonly key: string;
  readonly now: Instant;
}

/**
 * Returns why a chain is not valid for the host and the key; undefined if it is valid. Does not check whether browsers
 * trust it, because the operator chooses the authority.
 */
export const chainProblem = (pem: string, { host, key, now }: ExpectedCertificate): string | undefined => {
  const chain = parse(pem);
  const leaf = chain?.[0];
  if (chain === undefined || leaf === undefined || chain.length > MAX_CERTIFICATES) return "It is not a chain in PEM.";
  const [expected, found] = [createPublicKey(key), leaf.publicKey];
  if (!found.equals(expected)) return "Its key is not the key of the request.";
  if (leaf.checkHost(host, { subject: "never" }) === undefined) return `It is not valid for '${host}'.`;
  if (leaf.validToDate.getTime() <= millisOf(now)) return "It has expired. Check the clock of this machine.";
  if (leaf.validFromDate.getTime() > millisOf(now) + MAX_START_DELAY_MS)
    return `It is not valid before ${leaf.validFromDate.toISOString()}. Check the clock of this machine.`;
  const isBroken = chain.some((one, index) => {
    const issuer = chain[index + 1];
    return issuer !== undefined && !(one.checkIssued(issuer) && one.verify(issuer.publicKey));
  });
  return isBroken ? "A certificate of the chain is not signed by the next one." : undefined;
};
