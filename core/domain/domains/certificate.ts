/** The state of a host's certificate: when the next order is due, and what the owner of the domain sees. */
import { type Instant, plusMillis, timestampOf } from "../wire/instant.ts";
import type { DomainStatus, OwnDomain } from "./domain.ts";
import type { DomainName } from "./domain-name.ts";
import { MAX_ASKED_DELAY_MS, type Period, renewalTime, retryDelayMs } from "./renewal.ts";

/** The renewal window that an authority suggests (RFC 9773). */
export interface RenewalPlan {
  readonly window: Period;
  /** When to ask the authority again. */
  readonly askAgainAt: Instant;
  /** From 0 to less than 1: the point in the window. Stays the same for as long as the window does. */
  readonly random: number;
}

/** The certificate of a host, and the attempts to get the next one. */
export interface HostCertificate {
  readonly host: DomainName;
  /** The validity of the present certificate; null before the first one. */
  readonly life: Period | null;
  /** The name of the authority that issued the certificate; null before the first one. */
  readonly authority: string | null;
  readonly renewal: RenewalPlan | null;
  /** The consecutive failed attempts. */
  readonly failures: number;
  /** Why there was no order, or why the last one failed; null after a success. */
  readonly reason: string | null;
  /** No order begins earlier; null if nothing delays it. */
  readonly nextAttemptAt: Instant | null;
}

/** The part of a certificate's state that a failed attempt changes. */
export type AttemptState = Pick<HostCertificate, "failures" | "reason" | "nextAttemptAt">;

/** Returns whether a host has a certificate that has not expired. */
export const isValid = ({ life }: Pick<HostCertificate, "life">, now: Instant): boolean =>
  life !== null && now < life.end;

const later = (one: Instant, other: Instant | null): Instant => (other !== null && other > one ? other : one);

/** Returns when the next order is due. A host without a valid certificate needs one immediately. */
export const orderDueAt = ({ life, renewal, nextAttemptAt }: HostCertificate, now: Instant): Instant => {
  const due = life === null || now >= life.end ? now : renewalTime(life, renewal?.window, renewal?.random ?? 0);
  return later(due, nextAttemptAt);
};

/**
 * Returns the state after a failed attempt. The delay grows with the number of failures. It is not shorter than the
 * delay that the authority requires, which counts up to `MAX_ASKED_DELAY_MS`.
 * @param retryAfterMs null if the authority requires no delay
 */
export const afterFailure = (
  { failures }: Pick<HostCertificate, "failures">,
  reason: string,
  retryAfterMs: number | null,
  now: Instant,
): AttemptState => ({
  failures: failures + 1,
  reason,
  nextAttemptAt: plusMillis(now, Math.max(retryDelayMs(failures + 1), Math.min(retryAfterMs ?? 0, MAX_ASKED_DELAY_MS))),
});

const isSame = (one: Period, other: Period): boolean => one.start === other.start && one.end === other.end;

/** The bounds of the pause between two requests for advice, in milliseconds (RFC 9773, section 4.3.2). */
const advicePause = { minMs: 60_000, maxMs: 24 * 60 * 60_000 } as const;

/** Returns the plan after the authority's advice. Keeps the random point if the window is the same. */
export const afterAdvice = (
  known: RenewalPlan | null,
  { window, askAgainAt }: Omit<RenewalPlan, "random">,
  random: number,
  now: Instant,
): RenewalPlan => {
  const [soonest, latest] = [plusMillis(now, advicePause.minMs), plusMillis(now, advicePause.maxMs)];
  return {
    window,
    askAgainAt: askAgainAt < soonest ? soonest : askAgainAt > latest ? latest : askAgainAt,
    random: known !== null && isSame(known.window, window) ? known.random : random,
  };
};

/** Formats an instant to the second, in UTC. */
const formatTime = (instant: Instant): string => timestampOf(instant).slice(0, 19).concat("Z");

const nextAttempt = ({ nextAttemptAt }: HostCertificate, now: Instant): string =>
  nextAttemptAt === null || nextAttemptAt <= now
    ? "The next attempt begins soon."
    : `Next attempt at ${formatTime(nextAttemptAt)}.`;

/** The state of a domain as its owner sees it. */
export interface DomainView {
  readonly status: DomainStatus;
  readonly detail: string;
}

/**
 * Returns the state of a domain with a certificate. The domain is active only if its DNS records are correct and its
 * certificate is valid. It is pending until it has had a certificate.
 */
export const withCertificate = (
  { status, detail, domain }: Pick<OwnDomain, "status" | "detail" | "domain">,
  certificate: HostCertificate,
  now: Instant,
): DomainView => {
  if (status === "pending") return { status, detail };
  const { life, reason } = certificate;
  const why = reason === null ? "" : `${reason} `;
  if (life === null)
    return {
      status: "pending",
      detail: `${status === "active" ? "The DNS records are correct." : detail} The platform has no certificate for '${domain}' yet. ${why}${nextAttempt(certificate, now)}`,
    };
  if (!isValid(certificate, now))
    return {
      status: "failing",
      detail: `The certificate of '${domain}' expired at ${formatTime(life.end)}. ${why}${nextAttempt(certificate, now)}`,
    };
  if (status === "failing") return { status, detail };
  if (reason === null) return { status, detail };
  return {
    status: "failing",
    detail: `The certificate of '${domain}' is valid until ${formatTime(life.end)}, but its renewal fails. ${reason} ${nextAttempt(certificate, now)}`,
  };
};
