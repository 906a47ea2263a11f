/** The certificate of a domain that the provider's own certificate manager issues and renews. */
import { type Instant, parseInstant, type Timestamp } from "../wire/instant.ts";
import type { DomainView } from "./certificate.ts";
import type { CustomDomain, DomainRecord } from "./domain.ts";

/** The state of a certificate as the provider reports it. */
export interface ManagedCertificate {
  /** Whether the platform presents the certificate and routes the domain's requests to the deployment. */
  readonly isServed: boolean;
  /** Why the certificate is not served or cannot be renewed, with the next step; null if there is no problem. */
  readonly problem: string | null;
  /** When the certificate expires; null before it is issued. */
  readonly notAfter: Timestamp | null;
  /** The DNS records that validate the domain. Their removal prevents renewals. Empty if they are not known yet. */
  readonly records: readonly DomainRecord[];
}

const hasExpired = (notAfter: Timestamp | null, now: Instant): boolean => {
  const end = notAfter === null ? undefined : parseInstant(notAfter);
  return end !== undefined && end <= now;
};

/**
 * Returns the state of a domain with a managed certificate. The domain is pending until the platform serves the
 * certificate, and failing if the certificate has expired or has a problem.
 */
export const withManagedCertificate = (
  { status, detail, domain }: Pick<CustomDomain, "status" | "detail" | "domain">,
  { isServed, problem, notAfter }: ManagedCertificate,
  now: Instant,
): DomainView => {
  if (status === "pending") return { status, detail };
  if (!isServed) {
    const first = status === "active" ? "The DNS records are correct." : detail;
    const why = problem ?? `The platform does not serve the certificate of '${domain}' yet. Check the domain again.`;
    return { status: "pending", detail: `${first} ${why}` };
  }
  const expired = hasExpired(notAfter, now) ? `The certificate of '${domain}' expired at ${notAfter}.` : null;
  const problems = [expired, problem].filter((one) => one !== null);
  if (problems.length === 0) return { status, detail };
  return { status: "failing", detail: [...(status === "failing" ? [detail] : []), ...problems].join(" ") };
};
