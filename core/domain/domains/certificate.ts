/** The state of a host's certificate: when the next order is due, and what the owner of the domain sees. */
import { type Instant, plusMillis, timestampOf } from "../wire/instant.ts";
import { isFromFastClock } from "./clock-correction.ts";
import type { CustomDomain, DomainStatus } from "./domain.ts";
import type { DomainName } from "./domain-name.ts";
import { orderLimits } from "./order-budget.ts";
import {
  CHECKED_FAILURES,
  MAX_AUTHORITY_DELAY_MS,
  type Period,
  renewableAt,
  renewalTime,
  retryDelayMs,
  STARTED_FAILURES,
} from "./renewal.ts";

/** The advice of an authority about a renewal (RFC 9773). */
export interface RenewalPlan {
  /** The suggested window; null if the authority suggests none. */
  readonly window: Period | null;
  /** When to ask the authority again. */
  readonly askAgainAt: Instant;
  /** The point in the window, from 0 to less than 1. Changes only if the window changes. */
  readonly random: number;
}

/** The certificate of a host, and the attempts to obtain the next one. */
export interface HostCertificate {
  readonly host: DomainName;
  /** The validity of the current certificate; null before the first one. */
  readonly life: Period | null;
  /** The name of the authority that issued the certificate; null before the first one. */
  readonly authority: string | null;
  readonly renewal: RenewalPlan | null;
  /** The consecutive failed attempts. */
  readonly failures: number;
  /** Those of the failed attempts that sent a request to an authority. */
  readonly orderFailures: number;
  /** Why there was no order, or why the last one failed; null after a success. */
  readonly reason: string | null;
  /** The earliest time of the next attempt; null if nothing delays it. */
  readonly nextAttemptAt: Instant | null;
  /** The earliest next attempt that an authority permits; null if none requires a delay. */
  readonly authorityRetryAt: Instant | null;
}

/** The part of a certificate's state that a failed attempt changes. */
export type AttemptState = Pick<
  HostCertificate,
  "failures" | "orderFailures" | "reason" | "nextAttemptAt" | "authorityRetryAt"
>;

/** The state before the first attempt, and after a successful one. */
export const noFailures = {
  failures: 0,
  orderFailures: 0,
  reason: null,
  nextAttemptAt: null,
  authorityRetryAt: null,
} as const satisfies AttemptState;

/** Why an attempt failed. */
export interface AttemptFailure {
  readonly message: string;
  /** The milliseconds after which the authority permits another order; null if it requires no delay. */
  readonly retryAfterMs: number | null;
  /** False if the platform found the problem before it sent a request to an authority. */
  readonly isOrder: boolean;
}

/** Returns the state of a host that never had a certificate. */
export const withoutCertificate = (host: DomainName): HostCertificate => ({
  host,
  life: null,
  authority: null,
  renewal: null,
  ...noFailures,
});

/** Returns whether a host has a certificate that has not expired. */
export const isValid = ({ life }: Pick<HostCertificate, "life">, now: Instant): boolean =>
  life !== null && now < life.end;

const later = (one: Instant, other: Instant | null): Instant => (other !== null && other > one ? other : one);

/**
 * Returns whether the certificate comes from an authority that is not configured, such as a test authority that the
 * operator has replaced.
 */
const isForeign = ({ authority }: HostCertificate, authorities: readonly string[]): boolean =>
  authority !== null && !authorities.includes(authority);

/** The longest pause, in milliseconds: an authority or the budget of orders can require it. */
const MAX_PAUSE_MS = Math.max(MAX_AUTHORITY_DELAY_MS, orderLimits.windowMs);

const unlessFromFastClock = (pauseEnd: Instant | null, now: Instant): Instant | null =>
  pauseEnd === null || isFromFastClock(pauseEnd, MAX_PAUSE_MS, now) ? null : pauseEnd;

/**
 * Returns whether the platform may forget the certificate of a host that needs none. It keeps a valid one, so that a
 * domain needs no order if it is added again, and a delay that an authority requires, so that an account cannot end the
 * delay by removing the domain.
 */
export const isDiscardable = (certificate: HostCertificate, now: Instant): boolean => {
  const authorityRetryAt = unlessFromFastClock(certificate.authorityRetryAt, now);
  return !isValid(certificate, now) && (authorityRetryAt === null || authorityRetryAt <= now);
};

/**
 * Returns when the next order is due. A host without a valid certificate needs one immediately, and so does a host
 * whose certificate is not from a configured authority.
 * @param authorities the names of the configured authorities
 */
export const orderDueAt = (certificate: HostCertificate, authorities: readonly string[], now: Instant): Instant => {
  const { life, renewal } = certificate;
  const pauseEnd = unlessFromFastClock(certificate.nextAttemptAt, now);
  if (life === null || now >= life.end || isForeign(certificate, authorities)) return later(now, pauseEnd);
  const renewalAt = renewalTime(life, renewal?.window ?? undefined, renewal?.random ?? 0);
  return later(later(renewalAt, renewableAt(life)), pauseEnd);
};

/**
 * Compares certificates by urgency: first the missing ones, then the others by their expiry. The number of orders is
 * limited, so some hosts may have to wait.
 */
export const compareUrgency = (one: HostCertificate, other: HostCertificate): number => {
  const [end = -1n, otherEnd = -1n] = [one.life?.end, other.life?.end];
  return end < otherEnd ? -1 : Number(end > otherEnd);
};

/** The bounds of the pause between two requests for advice, in milliseconds (RFC 9773, section 4.3.2). */
const advicePause = { minMs: 60_000, maxMs: 24 * 60 * 60_000 } as const;

/** Returns whether to ask the authority for advice about the renewal. */
export const isAdviceDue = (certificate: HostCertificate, authorities: readonly string[], now: Instant): boolean => {
  if (!isValid(certificate, now) || isForeign(certificate, authorities)) return false;
  const askAgainAt = certificate.renewal?.askAgainAt ?? now;
  return askAgainAt <= now || isFromFastClock(askAgainAt, advicePause.maxMs, now);
};

/**
 * Returns the state after a failed attempt. The delay grows with the number of failures. It is at least the delay that
 * the authority requires, capped at `MAX_AUTHORITY_DELAY_MS`.
 * @param retryAfterMs null if the authority requires no delay
 */
export const afterFailure = (
  { failures, orderFailures }: Pick<HostCertificate, "failures" | "orderFailures">,
  { message, retryAfterMs, isOrder }: AttemptFailure,
  now: Instant,
): AttemptState => {
  const authorityRetryAt =
    retryAfterMs === null ? null : plusMillis(now, Math.min(retryAfterMs, MAX_AUTHORITY_DELAY_MS));
  const nextAttemptAt = later(plusMillis(now, retryDelayMs(failures + 1)), authorityRetryAt);
  return {
    failures: failures + 1,
    orderFailures: orderFailures + Number(isOrder),
    reason: message,
    nextAttemptAt,
    authorityRetryAt,
  };
};

/**
 * Returns the state in which only `counted` of the failures count, with their shorter pause. A delay that an authority
 * requires remains.
 */
const countingFailures = (certificate: HostCertificate, counted: number): AttemptState => {
  const { failures, reason, nextAttemptAt, authorityRetryAt } = certificate;
  const orderFailures = Math.min(certificate.orderFailures, counted);
  if (failures === 0 || nextAttemptAt === null)
    return { failures, orderFailures: certificate.orderFailures, reason, nextAttemptAt, authorityRetryAt };
  const ownRetryAt = counted === 0 ? null : plusMillis(nextAttemptAt, retryDelayMs(counted) - retryDelayMs(failures));
  return {
    failures: counted,
    orderFailures,
    reason,
    nextAttemptAt: ownRetryAt === null ? authorityRetryAt : later(ownRetryAt, authorityRetryAt),
    authorityRetryAt,
  };
};

/**
 * Returns the state after the owner of the domain ran a check that found correct records. If the owner corrected the
 * records, the next attempt begins immediately. Otherwise, the pause is at most the one after `CHECKED_FAILURES`
 * failures, because a client may check continuously. The delay that an authority requires still applies.
 */
export const afterOwnerCheck = (certificate: HostCertificate, wasCorrected: boolean): AttemptState =>
  countingFailures(certificate, wasCorrected ? 0 : Math.min(certificate.failures, CHECKED_FAILURES));

/**
 * Returns the state of a host that is not a custom domain after a start of the server. No account can check such a
 * host, so a start ends the pause. Only failures after a request to an authority still count, up to `STARTED_FAILURES`:
 * a server that restarts repeatedly must not repeat its orders.
 */
export const afterStart = (certificate: HostCertificate): AttemptState =>
  countingFailures(certificate, Math.min(certificate.orderFailures, STARTED_FAILURES));

/** Returns the state for a new owner of the domain, who is not responsible for earlier failures. */
export const forNewOwner = ({ authorityRetryAt }: HostCertificate): AttemptState => ({
  ...noFailures,
  nextAttemptAt: authorityRetryAt,
  authorityRetryAt,
});

const isSame = (one: Period | null, other: Period | null): boolean =>
  one?.start === other?.start && one?.end === other?.end;

/** When to ask again if the authority gave no advice, in milliseconds. */
const ADVICE_RETRY_MS = 6 * 60 * 60_000;

const between = (time: Instant, first: Instant, last: Instant): Instant => {
  if (time < first) return first;
  if (time > last) return last;
  return time;
};

/**
 * Returns the plan after the authority's advice. Keeps the random point if the window is the same.
 * @param advice null if the authority gave none; the window then does not change
 */
export const afterAdvice = (
  known: RenewalPlan | null,
  advice: Omit<RenewalPlan, "random"> | null,
  random: number,
  now: Instant,
): RenewalPlan => {
  const none = { window: known?.window ?? null, askAgainAt: plusMillis(now, ADVICE_RETRY_MS) };
  const { window, askAgainAt } = advice ?? none;
  const [soonest, latest] = [plusMillis(now, advicePause.minMs), plusMillis(now, advicePause.maxMs)];
  return {
    window,
    askAgainAt: between(askAgainAt, soonest, latest),
    random: known !== null && isSame(known.window, window) ? known.random : random,
  };
};

/** Formats an instant to the second, in UTC. */
const formatTime = (instant: Instant): string => timestampOf(instant).slice(0, 19).concat("Z");

const nextAttempt = ({ nextAttemptAt }: HostCertificate, now: Instant): string =>
  nextAttemptAt === null || nextAttemptAt <= now
    ? "The next attempt begins soon."
    : `Next attempt at ${formatTime(nextAttemptAt)}.`;

/** Describes a certificate that is missing, has expired or cannot be renewed, and when the next attempt begins. */
const problemOf = (certificate: HostCertificate, now: Instant): string => {
  const { host, life, reason } = certificate;
  const why = `${reason === null ? "" : `${reason} `}${nextAttempt(certificate, now)}`;
  if (life === null) return `The platform has no certificate for '${host}' yet. ${why}`;
  const end = formatTime(life.end);
  return isValid(certificate, now)
    ? `The certificate of '${host}' is valid until ${end}, but its renewal is failing. ${why}`
    : `The certificate of '${host}' expired at ${end}. ${why}`;
};

/** The state of a domain as its owner sees it. */
export interface DomainView {
  readonly status: DomainStatus;
  readonly detail: string;
}

/**
 * Returns the state of a domain with a certificate. The domain is active only if its DNS records are correct and its
 * certificate is valid. It is pending until it gets its first certificate.
 */
export const withCertificate = (
  { status, detail }: Pick<CustomDomain, "status" | "detail">,
  certificate: HostCertificate,
  now: Instant,
): DomainView => {
  if (status === "pending") return { status, detail };
  const problem = problemOf(certificate, now);
  if (certificate.life === null)
    return {
      status: "pending",
      detail: `${status === "active" ? "The DNS records are correct." : detail} ${problem}`,
    };
  if (!isValid(certificate, now)) return { status: "failing", detail: problem };
  if (status === "failing" || certificate.reason === null) return { status, detail };
  return { status: "failing", detail: problem };
};

/**
 * Returns why the platform could not obtain or renew the certificate of a host; undefined if the last attempt did not
 * fail.
 */
export const hostProblem = (certificate: HostCertificate, now: Instant): string | undefined =>
  certificate.reason === null ? undefined : problemOf(certificate, now);
