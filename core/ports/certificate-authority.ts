/**
 * The port for certificates. The platform decides when to order; the authority validates the host and signs.
 */
import type { Period } from "../domain/domains/renewal.ts";
import type { Instant } from "../domain/wire/instant.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/**
 * The response by which an authority validates a host.
 *
 * `http-01` (RFC 8555, section 8.3): a request for `/.well-known/acme-challenge/TOKEN` on port 80 gets the key
 * authorization as its body. `tls-alpn-01` (RFC 8737): a TLS connection with the protocol `acme-tls/1` on port 443 gets
 * a self-signed certificate with a hash of the key authorization.
 */
export interface Challenge {
  readonly type: "http-01" | "tls-alpn-01";
  readonly host: string;
  readonly token: string;
  readonly keyAuthorization: string;
}

/** Answers challenges. */
export interface ChallengeResponder {
  /** The types that the platform can answer, in order of preference. At least one. */
  readonly types: readonly Challenge["type"][];
  /** Returns after every listener of the platform answers the challenge. */
  publish(challenge: Challenge): ResultAsync<void, Unavailable>;
  /** Stops answering a challenge. Does nothing if the challenge is unknown. */
  withdraw(challenge: Challenge): ResultAsync<void, Unavailable>;
}

/** A certificate to order. */
export interface CertificateRequest {
  /** The host in ASCII and lower case. */
  readonly host: string;
  /** The private key of the certificate, PKCS #8 in PEM. The caller must store it before the order. */
  readonly key: string;
  /** The certificate that the new one replaces, in PEM (RFC 9773, section 5); undefined for a new host. */
  readonly replaces?: string | undefined;
  readonly responder: ChallengeResponder;
  /** The order of an earlier attempt with the same key. The authority may continue that order. */
  readonly order?: string | undefined;
  /**
   * Stores the order, so that it can continue after a restart. The adapter must call `started` before the authority
   * validates the host.
   */
  started(order: string): ResultAsync<void, Unavailable>;
}

/** The authority refused the order or the validation. */
export interface OrderFailed {
  readonly kind: "order_failed";
  /** The reason in a sentence, with the authority's own words. The owner of the host sees it. */
  readonly message: string;
  /** The milliseconds after which the authority permits another order; null if it specifies no delay. */
  readonly retryAfterMs: number | null;
  /** Whether another authority may issue the certificate, for example because a CAA record forbids only this one. */
  readonly othersMayIssue: boolean;
}

/** The advice of an authority about a renewal (RFC 9773). */
export interface RenewalAdvice {
  readonly window: Period;
  /** When to ask again. The caller bounds it (RFC 9773, section 4.3.2). */
  readonly askAgainAt: Instant;
}

export interface CertificateAuthority {
  /** A short name for messages, such as the host of the authority's directory. */
  readonly name: string;

  /**
   * Orders a certificate for the host: the chain in PEM, the host's certificate first. Its public key must match
   * `request.key`. Must withdraw each published challenge, even after a failure.
   *
   * Fails with `unavailable` if the authority does not respond, has an internal problem, or limits the requests about an
   * order that it has accepted. A later attempt continues the order, no earlier than after `retryAfterSeconds`.
   */
  order(request: CertificateRequest, options?: CallOptions): ResultAsync<string, OrderFailed | Unavailable>;

  /** Returns the advice about the renewal of a certificate of this authority, or null if the authority gives none. */
  advice(certificate: string, options?: CallOptions): ResultAsync<RenewalAdvice | null, Unavailable>;
}
