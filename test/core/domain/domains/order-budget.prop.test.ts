/** The budget of certificate orders, over any sequence of orders of several accounts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import {
  type CertificateOrder,
  type CertificateRequest,
  countRequest,
  type OrderLimits,
  orderLimits,
  orderPermittedAt,
} from "../../../../core/domain/domains/order-budget.ts";
import { type Instant, instantOfSeconds, plusMillis } from "../../../../core/domain/wire/instant.ts";

const limits: OrderLimits = {
  windowMs: 100_000,
  orders: 7,
  newOrders: 4,
  newOrdersPerAccount: 2,
  ordersPerAccount: 4,
};

const order = (second: number, kind: CertificateOrder["kind"], account = "a", domain = "example.com") => ({
  kind,
  account: account as AccountId,
  registeredDomain: domain as DomainName,
  at: instantOfSeconds(1_800_000_000 + second),
});

/** Orders sorted by time. */
const history = () =>
  fc
    .array(
      fc.record({
        second: fc.integer({ min: 0, max: 400 }),
        kind: fc.constantFrom("new" as const, "renewal" as const),
        account: fc.constantFrom("a", "b", "c"),
        domain: fc.constantFrom("example.com", "example.net"),
      }),
      { maxLength: 60, size: "max" },
    )
    .map((all) =>
      all
        .sort((a, b) => a.second - b.second)
        .map(({ second, kind, account, domain }) => order(second, kind, account, domain)),
    );

/** The orders that the budget permits, one after another. */
const permitted = (wanted: readonly CertificateOrder[]): readonly CertificateOrder[] => {
  const made: CertificateOrder[] = [];
  for (const one of wanted) if (orderPermittedAt(one, made, limits) === undefined) made.push(one);
  return made;
};

/** The largest number of orders in one window. */
const mostInWindow = (orders: readonly CertificateOrder[]): number =>
  Math.max(
    0,
    ...orders.map(({ at }) => {
      const end = plusMillis(at, limits.windowMs);
      return orders.filter((other) => other.at >= at && other.at < end).length;
    }),
  );

const by = <K>(orders: readonly CertificateOrder[], key: (one: CertificateOrder) => K) =>
  [...Map.groupBy(orders, key).values()].map(mostInWindow);

describe("the budget", () => {
  test("keeps every registered domain within its limits, and every account within its share", () => {
    fc.assert(
      fc.property(history(), (wanted) => {
        const made = permitted(wanted);
        const created = made.filter(({ kind }) => kind === "new");
        for (const most of by(made, ({ registeredDomain }) => registeredDomain))
          expect(most).toBeLessThanOrEqual(limits.orders);
        for (const most of by(created, ({ registeredDomain }) => registeredDomain))
          expect(most).toBeLessThanOrEqual(limits.newOrders);
        for (const most of by(created, ({ registeredDomain, account }) => `${registeredDomain} ${account}`))
          expect(most).toBeLessThanOrEqual(limits.newOrdersPerAccount);
        for (const most of by(made, ({ registeredDomain, account }) => `${registeredDomain} ${account}`))
          expect(most).toBeLessThanOrEqual(limits.ordersPerAccount);
      }),
    );
  });

  test("never refuses a renewal within the reserve, whatever new orders it permitted", () => {
    fc.assert(
      fc.property(history(), fc.integer({ min: 0, max: 500 }), (wanted, second) => {
        const renewal = order(second, "renewal");
        const earlier = permitted(wanted).filter(({ at }) => at <= renewal.at);
        const recent = earlier.filter(
          ({ registeredDomain, at }) =>
            registeredDomain === renewal.registeredDomain && plusMillis(at, limits.windowMs) > renewal.at,
        );
        const own = recent.filter(({ account }) => account === renewal.account);
        const renewals = recent.filter(({ kind }) => kind === "renewal");
        if (renewals.length < limits.orders - limits.newOrders && own.length < limits.ordersPerAccount)
          expect(orderPermittedAt(renewal, earlier, limits)).toBeUndefined();
      }),
    );
  });

  test("permits renewals beyond the reserve while the limit has room", () => {
    const renewals = Array.from({ length: 6 }, (_, second) => order(second, "renewal", second < 3 ? "a" : "b"));
    expect(orderPermittedAt(order(6, "renewal"), renewals, limits)).toBeUndefined();
    const full = [...renewals, order(6, "new")];
    expect(orderPermittedAt(order(7, "renewal"), full, limits)).toBe(order(100, "renewal").at);
    expect(orderPermittedAt(order(7, "new"), full, limits)).toBe(order(100, "new").at);
  });

  test("permits a refused order at the time that it returns, and not before", () => {
    fc.assert(
      fc.property(history(), fc.constantFrom("new" as const, "renewal" as const), (earlier, kind) => {
        const wanted = order(400, kind);
        const free = orderPermittedAt(wanted, earlier, limits);
        if (free === undefined) return;
        expect(free > wanted.at).toBe(true);
        expect(orderPermittedAt({ ...wanted, at: free }, earlier, limits)).toBeUndefined();
        const before = { ...wanted, at: (free - 1n) as Instant };
        expect(orderPermittedAt(before, earlier, limits)).toBe(free);
      }),
    );
  });

  test("permits a renewal after the account's last new order", () => {
    const used = [order(0, "new"), order(1, "new"), order(2, "new", "b"), order(3, "new", "b")];
    expect(orderPermittedAt(order(4, "new"), used, limits)).toBeDefined();
    expect(orderPermittedAt(order(4, "renewal"), used, limits)).toBeUndefined();
  });

  test("leaves renewals for other accounts when one account has used its share", () => {
    const renewals = Array.from({ length: limits.ordersPerAccount }, (_, second) => order(second, "renewal"));
    for (const kind of ["renewal", "new"] as const) {
      expect(orderPermittedAt(order(5, kind), renewals, limits)).toBe(order(100, kind).at);
      expect(orderPermittedAt(order(5, kind, "b"), renewals, limits)).toBeUndefined();
    }
  });

  test("does not count orders that a clock dated a year ahead", () => {
    const YEAR_S = 365 * 86_400;
    const earlier = Array.from({ length: limits.orders }, () => order(YEAR_S, "renewal"));
    expect(orderPermittedAt(order(YEAR_S, "renewal"), earlier, limits)).toBe(order(YEAR_S + 100, "renewal").at);
    expect(orderPermittedAt(order(0, "renewal"), earlier, limits)).toBeUndefined();
  });

  test("leaves new orders for other accounts when one account has used its share", () => {
    const earlier = [order(0, "new"), order(1, "new")];
    expect(orderPermittedAt(order(2, "new"), earlier, limits)).toBe(order(100, "new").at);
    expect(orderPermittedAt(order(2, "new", "b"), earlier, limits)).toBeUndefined();
    expect(orderPermittedAt(order(2, "new", "a", "example.net"), earlier, limits)).toBeUndefined();
  });
});

test("the default limits share 50 certificates per week, with more than one account's share for new orders", () => {
  expect(orderLimits.orders).toBe(50);
  expect(orderLimits.newOrders).toBeLessThan(orderLimits.orders);
  expect(orderLimits.newOrders).toBeGreaterThan(orderLimits.newOrdersPerAccount);
  expect(orderLimits.ordersPerAccount).toBeLessThan(orderLimits.orders);
});

describe("requests to a service that renews certificates itself", () => {
  const DAY_S = 86_400;
  const few = { days: 1, requests: 3 };
  const request = (second: number, id: string): CertificateRequest => ({
    id,
    at: instantOfSeconds(1_800_000_000 + second),
  });
  const wanted = () =>
    fc
      .array(fc.record({ second: fc.integer({ min: 0, max: 5 * DAY_S }), id: fc.integer({ min: 0, max: 30 }) }), {
        maxLength: 40,
      })
      .map((all) => all.sort((a, b) => a.second - b.second).map(({ second, id }) => request(second, `${id}`)));

  /** Counts the requests one after another. */
  const counted = (all: readonly CertificateRequest[]) => {
    let stored: readonly CertificateRequest[] = [];
    const made: CertificateRequest[] = [];
    const refused: { readonly wanted: CertificateRequest; readonly stored: readonly CertificateRequest[] }[] = [];
    for (const one of all) {
      const result = countRequest(one, stored, few);
      if ("permittedAt" in result) refused.push({ wanted: one, stored });
      else {
        if (result.requests !== stored) made.push(one);
        stored = result.requests;
      }
    }
    return { made, refused, stored };
  };

  test("no day contains more than the limit, and the stored list does not grow", () => {
    fc.assert(
      fc.property(wanted(), (all) => {
        const { made, stored } = counted(all);
        for (const { at } of made) {
          const end = plusMillis(at, DAY_S * 1000);
          expect(made.filter((other) => other.at >= at && other.at < end).length).toBeLessThanOrEqual(few.requests);
        }
        expect(stored.length).toBeLessThanOrEqual(few.requests);
      }),
    );
  });

  test("a refused request is permitted at the stated time, and no earlier", () => {
    fc.assert(
      fc.property(wanted(), (all) => {
        for (const { wanted: one, stored } of counted(all).refused) {
          const result = countRequest(one, stored, few);
          if (!("permittedAt" in result)) throw new Error("permitted");
          const { permittedAt } = result;
          expect(countRequest({ ...one, at: permittedAt }, stored, few)).toHaveProperty("requests");
          expect(countRequest({ ...one, at: (permittedAt - 1n) as Instant }, stored, few)).toEqual({ permittedAt });
        }
      }),
    );
  });

  test("the attempts of one request count once, even after the limit is reached", () => {
    const { stored } = counted([request(0, "a"), request(1, "b"), request(2, "c")]);
    expect(countRequest(request(3, "b"), stored, few)).toEqual({ requests: stored });
    expect(countRequest(request(3, "d"), stored, few)).toEqual({ permittedAt: request(DAY_S, "a").at });
  });

  test("a request that a fast clock dated to the future does not count", () => {
    const { stored } = counted(["a", "b", "c"].map((id) => request(365 * DAY_S, id)));
    expect(countRequest(request(0, "d"), stored, few)).toEqual({ requests: [request(0, "d")] });
  });
});
