/** The state of a host's certificate: when the next order is due, and what the owner of the domain sees. */
import { type Instant, plusMillis, timestampOf } from "../wire/instant.ts";
import { isFromFastClock } from "./clock-correction.ts";
import type { CustomDomain, DomainStatus } from "./domain.ts";
import type { DomainName } from "./domain-name.ts";
import { type CertificateOrder, orderLimits } from "./order-budget.ts";
import {
  CHECKED_FAILURES,
  MAX_AUTHORITY_DELAY_MS,
  type Period,
  renewableAt,
  renewalTime,
  retryDelayMs,
  retryLimits,
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

/** The earliest next attempt that each authority permits, by the name of the authority. */
export type AuthorityDelays = Readonly<Record<string, Instant>>;

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
  /** The earliest time of the next attempt that the platform permits; null if it requires no pause. */
  readonly nextAttemptAt: Instant | null;
  /** The delays that authorities require. Another authority may issue the certificate earlier. */
  readonly authorityDelays: AuthorityDelays;
}

/** The part of a certificate's state that a failed attempt changes. */
export type AttemptState = Pick<
  HostCertificate,
  "failures" | "orderFailures" | "reason" | "nextAttemptAt" | "authorityDelays"
>;

/** The state before the first attempt, and after a successful one. */
export const noFailures = {
  failures: 0,
  orderFailures: 0,
  reason: null,
  nextAttemptAt: null,
  authorityDelays: {},
} as const satisfies AttemptState;

/** Why an attempt failed. */
export interface AttemptFailure {
  readonly message: string;
  /** The milliseconds after which an authority permits another order, by its name. */
  readonly authorityDelaysMs: Readonly<Record<string, number>>;
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

/** Returns how the budget counts the next order. */
export const orderKindOf = ({ life }: Pick<HostCertificate, "life">): CertificateOrder["kind"] =>
  life === null ? "new" : "renewal";

const later = (one: Instant, other: Instant | null): Instant => (other !== null && other > one ? other : one);

/**
 * Returns whether the certificate comes from an authority that is not configured, such as a test authority that the
 * operator has replaced.
 */
const isForeign = ({ authority }: HostCertificate, authorities: readonly string[]): boolean =>
  authority !== null && !authorities.includes(authority);

/** The longest pause of the platform itself, in milliseconds: the budget of orders can require it. */
const MAX_PAUSE_MS = Math.max(orderLimits.windowMs, retryLimits.longestMs);

/** Returns the delays that have not ended. */
const pendingDelays = ({ authorityDelays }: Pick<HostCertificate, "authorityDelays">, now: Instant): AuthorityDelays =>
  Object.fromEntries(
    Object.entries(authorityDelays).filter(
      ([, until]) => until > now && !isFromFastClock(until, MAX_AUTHORITY_DELAY_MS, now),
    ),
  );

/** Returns those of the configured authorities that require no delay now. */
export const permittingAuthorities = (
  certificate: Pick<HostCertificate, "authorityDelays">,
  authorities: readonly string[],
  now: Instant,
): readonly string[] => {
  const delays = pendingDelays(certificate, now);
  return authorities.filter((name) => delays[name] === undefined);
};

/** Returns when the platform and at least one of the configured authorities permit the next attempt. */
const pauseEndOf = (
  certificate: Pick<HostCertificate, "nextAttemptAt" | "authorityDelays">,
  authorities: readonly string[],
  now: Instant,
): Instant | null => {
  const { nextAttemptAt } = certificate;
  const own = nextAttemptAt === null || isFromFastClock(nextAttemptAt, MAX_PAUSE_MS, now) ? null : nextAttemptAt;
  if (permittingAuthorities(certificate, authorities, now).length > 0) return own;
  const delays = pendingDelays(certificate, now);
  const [first] = authorities.flatMap((name) => delays[name] ?? []).sort((a, b) => (a < b ? -1 : 1));
  return first === undefined ? own : later(first, own);
};

/**
 * Returns whether the platform may forget the certificate of a host that needs none. It keeps a valid one, so that a
 * domain needs no order if it is added again, and a delay that an authority requires, so that an account cannot end the
 * delay by removing the domain.
 */
export const isDiscardable = (certificate: HostCertificate, now: Instant): boolean =>
  !isValid(certificate, now) && Object.keys(pendingDelays(certificate, now)).length === 0;

/**
 * Returns when the next order is due. A host without a valid certificate needs one immediately, and so does a host
 * whose certificate is not from a configured authority.
 * @param authorities the names of the configured authorities
 */
export const orderDueAt = (certificate: HostCertificate, authorities: readonly string[], now: Instant): Instant => {
  const { life, renewal } = certificate;
  const pauseEnd = pauseEndOf(certificate, authorities, now);
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
 * Returns the state after a failed attempt. The pause grows with the number of failures. The delay of each authority is
 * capped at `MAX_AUTHORITY_DELAY_MS`.
 */
export const afterFailure = (
  present: Pick<HostCertificate, "failures" | "orderFailures" | "authorityDelays">,
  { message, authorityDelaysMs, isOrder }: AttemptFailure,
  now: Instant,
): AttemptState => {
  const required = Object.entries(authorityDelaysMs).map(([name, millis]) => [
    name,
    plusMillis(now, Math.min(millis, MAX_AUTHORITY_DELAY_MS)),
  ]);
  return {
    failures: present.failures + 1,
    orderFailures: present.orderFailures + Number(isOrder),
    reason: message,
    nextAttemptAt: plusMillis(now, retryDelayMs(present.failures + 1)),
    authorityDelays: { ...pendingDelays(present, now), ...Object.fromEntries(required) },
  };
};

/**
 * Returns the state in which only `counted` of the failures count, with their shorter pause. The delays that authorities
 * require remain.
 */
const countingFailures = (certificate: HostCertificate, counted: number): AttemptState => {
  const { failures, orderFailures, reason, nextAttemptAt, authorityDelays } = certificate;
  if (failures === 0 || nextAttemptAt === null)
    return { failures, orderFailures, reason, nextAttemptAt, authorityDelays };
  return {
    failures: counted,
    orderFailures: Math.min(orderFailures, counted),
    reason,
    nextAttemptAt: counted === 0 ? null : plusMillis(nextAttemptAt, retryDelayMs(counted) - retryDelayMs(failures)),
    authorityDelays,
  };
};

/**
 * Returns the state after the owner of the domain ran a check that found correct records. If the owner corrected the
 * records, the next attempt begins immediately. Otherwise, the pause is at most the one after `CHECKED_FAILURES`
 * failures, because a client may check continuously. The delays that authorities require still apply.
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
export const forNewOwner = ({ authorityDelays }: HostCertificate): AttemptState => ({ ...noFailures, authorityDelays });

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

const nextAttempt = (pauseEnd: Instant | null, now: Instant): string =>
  pauseEnd === null || pauseEnd <= now ? "The next attempt begins soon." : `Next attempt at ${formatTime(pauseEnd)}.`;

/** Describes a certificate that is missing, has expired or cannot be renewed, and when the next attempt begins. */
const problemOf = (certificate: HostCertificate, authorities: readonly string[], now: Instant): string => {
  const { host, life, reason } = certificate;
  const next = nextAttempt(pauseEndOf(certificate, authorities, now), now);
  const why = reason === null ? next : `${reason} ${next}`;
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
 * @param authorities the names of the configured authorities
 */
export const withCertificate = (
  { status, detail }: Pick<CustomDomain, "status" | "detail">,
  certificate: HostCertificate,
  authorities: readonly string[],
  now: Instant,
): DomainView => {
  if (status === "pending") return { status, detail };
  const problem = problemOf(certificate, authorities, now);
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
 * @param authorities the names of the configured authorities
 */
export const hostProblem = (
  certificate: HostCertificate,
  authorities: readonly string[],
  now: Instant,
): string | undefined => (certificate.reason === null ? undefined : problemOf(certificate, authorities, now));
