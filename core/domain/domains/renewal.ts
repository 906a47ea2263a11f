/** When to renew a certificate, and when to retry a failed order. */
import { type Instant, millisOf, plusMillis } from "../wire/instant.ts";

/** The validity of a certificate, or the renewal window that its authority suggests (RFC 9773). */
export interface Period {
  readonly start: Instant;
  readonly end: Instant;
}

const millisIn = ({ start, end }: Period): number => millisOf(end) - millisOf(start);

/** Returns the instant at a fraction of a period: 0 for its start, 1 for its end. */
const within = (period: Period, fraction: number): Instant =>
  plusMillis(period.start, Math.round(millisIn(period) * fraction));

/** The latest time of a renewal, as a fraction of the certificate's life. */
const USED_LIFE = 2 / 3;

/**
 * Returns when to renew a certificate: at a random point of the suggested window (RFC 9773, section 4.2), or after two
 * thirds of its life if the authority suggests none. Ignores a window that does not end after its start. A renewal is
 * never later than two thirds of the life, so that there is time to retry even if the window is late.
 *
 * @param random from 0 to less than 1; the caller must keep it while the window stays the same
 * @param suggested undefined if the authority has no renewal information
 */
export const renewalTime = (life: Period, suggested: Period | undefined, random: number): Instant => {
  const latest = within(life, USED_LIFE);
  if (suggested === undefined || suggested.end <= suggested.start) return latest;
  const chosen = within(suggested, random);
  if (chosen < latest) return chosen;
  return latest;
};

/** How old a certificate must be before its renewal, in milliseconds. A third of its life if that is shorter. */
const MIN_RENEWAL_AGE_MS = 12 * 60 * 60_000;

/** Returns the earliest time of a renewal, so that bad advice from the authority cannot use up the budget of orders. */
export const renewableAt = (life: Period): Instant =>
  plusMillis(life.start, Math.min(MIN_RENEWAL_AGE_MS, millisIn(life) / 3));

/** The delays after failed orders, in milliseconds: they double from the first to the longest. */
export const retryLimits = { firstMs: 60_000, longestMs: 24 * 60 * 60_000 } as const;

/**
 * The maximum number of failures that count after the owner of the domain ran a check. Limits the pause to 8 minutes.
 */
export const CHECKED_FAILURES = 4;

/**
 * The maximum number of failed orders that count after a start of the server. The pause is then 64 minutes, because
 * authorities limit the failed validations of a host per hour.
 */
export const STARTED_FAILURES = 7;

/**
 * After how many consecutive failed attempts Portside abandons an order. More than `STARTED_FAILURES`, so that a server
 * that restarts repeatedly does not abandon its orders.
 */
const ABANDONED_AFTER = STARTED_FAILURES + 2;

/**
 * Returns whether to abandon the current order. The next attempt then places a new order. An authority may be unable to
 * complete an order although it accepts other orders.
 * @param orderFailures the consecutive failed attempts that sent a request to an authority
 */
export const abandonsOrder = (orderFailures: number): boolean =>
  orderFailures > 0 && orderFailures % ABANDONED_AFTER === 0;

/** The maximum delay that an authority can impose, in milliseconds: the period of its rate limits. */
export const MAX_AUTHORITY_DELAY_MS = 7 * 24 * 60 * 60_000;

/**
 * Returns the milliseconds to wait after a failed order.
 * @param failures the consecutive failures; at least 1
 */
export const retryDelayMs = (failures: number): number =>
  Math.min(retryLimits.firstMs * 2 ** (failures - 1), retryLimits.longestMs);
