/** The budget of orders, with concurrent attempts on a store whose calls end in any order. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createMemoryCertificates } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { orderLimits } from "../../../../core/domain/domains/order-budget.ts";
import { instantOfSeconds, plusMillis } from "../../../../core/domain/wire/instant.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { CertificateStore } from "../../../../core/ports/certificate-store.ts";
import { errAsync, ResultAsync } from "../../../../core/result.ts";
import { OrderReservations, type Reservation } from "../../../../core/use-cases/domains/order-reservations.ts";

const registeredDomain = "example.com" as DomainName;

const newReservation = (): Reservation => ({
  order: { account: "acme" as AccountId, registeredDomain, kind: "new" },
});

const NOW = instantOfSeconds(1_800_000_000);

const clock = { now: () => NOW };

/** A store whose calls take effect, and then return, when the scheduler decides. */
const scheduled = (store: CertificateStore, scheduler: fc.Scheduler): CertificateStore => {
  const slow = <T, E>(work: () => ResultAsync<T, E>): ResultAsync<T, E> =>
    new ResultAsync(
      (async () => {
        await scheduler.schedule(Promise.resolve());
        const result = await work();
        await scheduler.schedule(Promise.resolve());
        return result;
      })(),
    );
  return {
    ...store,
    orders: (since) => slow(() => store.orders(since)),
    startOrder: (...args) => slow(() => store.startOrder(...args)),
  };
};

test("concurrent attempts start exactly as many orders as the budget permits", async () => {
  const attempts = orderLimits.newOrdersPerAccount + 2;
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const store = createMemoryCertificates(() => []);
      const reservations = new OrderReservations(scheduled(store, scheduler), clock);
      const attempt = async (n: number): Promise<boolean> => {
        const reservation = newReservation();
        if ((await reservations.reserve(reservation))._unsafeUnwrap() !== undefined) return false;
        const order = { authority: "ca.example", url: `https://ca.example/order/${n}` };
        const host = `a${n}.example.com` as DomainName;
        (await reservations.start(host, order, reservation))._unsafeUnwrap();
        return true;
      };
      const all = Promise.all(Array.from({ length: attempts }, (_, n) => attempt(n)));
      const started = await scheduler.waitFor(all);
      expect(started.filter(Boolean)).toHaveLength(orderLimits.newOrdersPerAccount);
      expect((await store.orders(instantOfSeconds(0)))._unsafeUnwrap()).toHaveLength(orderLimits.newOrdersPerAccount);
    }),
    { numRuns: 60 },
  );
});

test("each order of an attempt counts from the time of its reservation", async () => {
  let now = NOW;
  const store = createMemoryCertificates(() => []);
  const reservations = new OrderReservations(store, { now: () => now });
  const reservation = newReservation();
  const host = "a.example.com" as DomainName;
  const times = [];
  for (let n = 0; n < 2; n++) {
    now = plusMillis(now, 60_000);
    (await reservations.reserve(reservation))._unsafeUnwrap();
    times.push(now);
    now = plusMillis(now, 60_000);
    const order = { authority: `ca-${n}.example`, url: `https://ca-${n}.example/order` };
    (await reservations.start(host, order, reservation))._unsafeUnwrap();
  }
  expect((await store.orders(NOW))._unsafeUnwrap().map(({ at }) => at)).toEqual(times);
});

test.each([
  ["fails", true, () => errAsync(unavailable("The disk is full."))],
  [
    "throws",
    "Error: a bug",
    () => {
      throw new Error("a bug");
    },
  ],
] as const)("an attempt that %s returns its reservation to the budget", async (_, outcome, end) => {
  const reservations = new OrderReservations(
    createMemoryCertificates(() => []),
    clock,
  );
  for (let attempts = 0; attempts <= orderLimits.newOrdersPerAccount; attempts++) {
    const reservation = newReservation();
    expect((await reservations.reserve(reservation))._unsafeUnwrap()).toBeUndefined();
    const ended = reservations.releaseAfter(reservation, end);
    expect(await ended.then((result) => result.isErr(), String)).toBe(outcome);
  }
});
