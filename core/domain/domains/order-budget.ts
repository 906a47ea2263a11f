/**
 * The budget of certificate orders. Authorities limit the certificates per registered domain and week, across all
 * accounts of the platform. The budget reserves a part of the limit for renewals, so that new domains cannot cause a
 * certificate to expire. Renewals may also use the share that new orders leave unused, so that no certificate expires
 * while the limit has room. The budget limits the orders of each account, because the owner of a domain can make its
 * orders fail repeatedly. Requests to services that renew certificates themselves have a separate budget.
 */
import type { AccountId } from "../accounts/account.ts";
import { type Instant, plusMillis } from "../wire/instant.ts";
import { isFromFastClock } from "./clock-correction.ts";
import type { DomainName } from "./domain-name.ts";

/** An order of a certificate. */
export interface CertificateOrder {
  readonly account: AccountId;
  readonly registeredDomain: DomainName;
  /** `renewal` if the domain has had a certificate, even one that has expired. */
  readonly kind: "new" | "renewal";
  readonly at: Instant;
}

/**
 * Limits on the orders of a registered domain in any period of `windowMs` milliseconds. The defaults divide Let's
 * Encrypt's limit of 50 certificates per week: https://letsencrypt.org/docs/rate-limits/
 */
export interface OrderLimits {
  readonly windowMs: number;
  /** All orders: the limit of the authority. */
  readonly orders: number;
  /** The maximum number of new orders. The rest of `orders` is reserved for renewals. At most `orders`. */
  readonly newOrders: number;
  /** New orders of one account. At most `newOrders`. */
  readonly newOrdersPerAccount: number;
  /** All orders of one account. Less than `orders`, so that one account leaves orders for the others. */
  readonly ordersPerAccount: number;
}

/** The default limits. */
export const orderLimits: OrderLimits = {
  windowMs: 7 * 24 * 60 * 60_000,
  orders: 50,
  newOrders: 25,
  newOrdersPerAccount: 10,
  ordersPerAccount: 35,
};

/**
 * Returns the earliest time at which the window contains fewer than `max` of the orders, or undefined if it already
 * does.
 */
const freeAt = (
  orders: readonly { readonly at: Instant }[],
  max: number,
  { windowMs }: Pick<OrderLimits, "windowMs">,
  now: Instant,
): Instant | undefined => {
  const ends = orders
    .map(({ at }) => plusMillis(at, windowMs))
    .filter((end) => end > now)
    .sort((a, b) => (a < b ? -1 : 1));
  return ends[ends.length - max];
};

/**
 * Returns undefined if the order is permitted at `order.at`. Otherwise, returns the earliest permitted time, assuming
 * that no other order begins before then. New orders of other accounts never delay a renewal within the reserve.
 *
 * @param earlier the earlier orders, including failed ones, because authorities count them too. Orders that a fast clock
 *   dated to the future do not count, because they would count for too long.
 */
export const orderPermittedAt = (
  order: CertificateOrder,
  earlier: readonly CertificateOrder[],
  limits: OrderLimits = orderLimits,
): Instant | undefined => {
  const all = earlier.filter(
    ({ registeredDomain, at }) => registeredDomain === order.registeredDomain && !isFromFastClock(at, 0, order.at),
  );
  const own = all.filter(({ account }) => account === order.account);
  const isNew = ({ kind }: CertificateOrder) => kind === "new";
  const free = [
    freeAt(all, limits.orders, limits, order.at),
    freeAt(own, limits.ordersPerAccount, limits, order.at),
    ...(isNew(order)
      ? [
          freeAt(all.filter(isNew), limits.newOrders, limits, order.at),
          freeAt(own.filter(isNew), limits.newOrdersPerAccount, limits, order.at),
        ]
      : []),
  ];
  return free.filter((one) => one !== undefined).sort((a, b) => (a < b ? 1 : -1))[0];
};

/**
 * A request to a service that issues a certificate and renews it, such as AWS Certificate Manager. The service counts
 * only requests, for all accounts of the platform together.
 */
export interface CertificateRequest {
  /** The same for the attempts of one request, which count once. */
  readonly id: string;
  readonly at: Instant;
}

/** Limits on the requests of an account in any period of `days` days. */
export interface RequestLimits {
  readonly days: number;
  readonly requests: number;
}

/** At most 780 requests a year: an account cannot use up a quota of 5,000, even if it removes and adds its domains. */
export const requestLimits: RequestLimits = { days: 30, requests: 60 };

const DAY_MS = 24 * 60 * 60_000;

/** Either the account's requests with the new one, or the earliest time at which the new one is permitted. */
export type CountedRequest = { readonly requests: readonly CertificateRequest[] } | { readonly permittedAt: Instant };

/**
 * Adds a request to the account's earlier requests, unless it has been counted. Removes requests that are too old, or
 * that a fast clock dated to the future.
 */
export const countRequest = (
  request: CertificateRequest,
  earlier: readonly CertificateRequest[],
  { days, requests }: RequestLimits = requestLimits,
): CountedRequest => {
  const { id, at: now } = request;
  const windowMs = days * DAY_MS;
  const counting = earlier.filter(({ at }) => plusMillis(at, windowMs) > now && !isFromFastClock(at, 0, now));
  if (counting.some((one) => one.id === id)) return { requests: earlier };
  const permittedAt = freeAt(counting, requests, { windowMs }, now);
  return permittedAt === undefined ? { requests: [...counting, request] } : { permittedAt };
};
