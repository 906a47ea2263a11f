/** Failing orders with concurrent changes by accounts, on stores whose calls end in any order. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createMemoryCertificates } from "../../../../adapters/memory/index.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { type CertificateOrder, orderLimits } from "../../../../core/domain/domains/order-budget.ts";
import { CHECKED_FAILURES } from "../../../../core/domain/domains/renewal.ts";
import { plusMillis } from "../../../../core/domain/wire/instant.ts";
import type { OrderFailed } from "../../../../core/ports/certificate-authority.ts";
import { okAsync, type Result, ResultAsync } from "../../../../core/result.ts";
import { createFakeAuthority, type FakeAuthority } from "../../../support/domains/fake-authority.ts";
import { deployed, startMemory } from "../../../support/providers/memory-platform.ts";

const DOMAIN = "app.example.com" as DomainName;

const refused: OrderFailed = {
  kind: "order_failed",
  message: "could not validate the host",
  retryAfterMs: null,
  othersMayIssue: false,
};

type Call = () => ResultAsync<unknown, unknown>;

/** Delays each method of a port. */
const slowed = <P extends object>(port: P, slow: <R>(work: () => R) => R): P =>
  Object.fromEntries(
    Object.entries(port).map(([name, method]) => [name, (...args: unknown[]) => slow(() => method(...args))]),
  ) as P;

/**
 * Starts a platform whose authority refuses all orders. `acme` has an active domain, whose last orders have failed. If
 * `other` takes the domain over, DNS contains the proof of `other`.
 */
const start = async (failures: number) => {
  let scheduler: fc.Scheduler | undefined;
  const slow = (<R extends ResultAsync<unknown, unknown>>(work: () => R) => {
    const at = scheduler;
    if (at === undefined) return work();
    const run = async () => {
      await at.schedule(Promise.resolve());
      const result: Result<unknown, unknown> = await work();
      await at.schedule(Promise.resolve());
      return result;
    };
    return new ResultAsync(run());
  }) as <R>(work: () => R) => R;
  let authority: FakeAuthority | undefined;
  const certificates = createMemoryCertificates(() =>
    [...platform.memory.snapshot().domains.values()]
      .filter(({ status }) => status !== "pending")
      .map(({ domain, owner }) => ({ host: domain, account: owner, isOwn: true })),
  );
  const platform = startMemory({
    around: ({ domains }, clock) => {
      if (domains === undefined) return {};
      authority = createFakeAuthority(clock);
      authority.failure = () => refused;
      const responder = {
        types: ["http-01"],
        publish: () => okAsync(undefined),
        withdraw: () => okAsync(undefined),
      } as const;
      return {
        domains: {
          ...domains,
          store: slowed(domains.store, slow),
          certificates: { store: slowed(certificates, slow), responder, authorities: [authority] },
        },
      };
    },
  });
  const { controlPlane, principal, memory, clock } = platform;
  await deployed(platform);
  await deployed(platform, { function_name: "theirs" }, "other");
  const { records } = (await controlPlane.addDomain(principal(), { domain: DOMAIN, name: "app" }))._unsafeUnwrap();
  memory.dns.add(...records);
  const check = () => controlPlane.checkDomain(principal(), { domain: DOMAIN });
  (await check())._unsafeUnwrap();
  const reason = "refused earlier";
  const attempt = {
    failures,
    orderFailures: failures,
    reason,
    nextAttemptAt: plusMillis(clock.now(), -1),
    authorityDelays: {},
  };
  (await certificates.changeAttempt(DOMAIN, () => attempt))._unsafeUnwrap();
  const takeOver = () => controlPlane.addDomain(principal("other"), { domain: DOMAIN, name: "theirs" });
  return {
    platform,
    certificates,
    check,
    takeOver,
    authority: authority as FakeAuthority,
    /** Replaces the proof of the current owner in DNS. */
    prove: async () => {
      const [proof = ""] = /portside-verification=[\w-]+/.exec((await takeOver())._unsafeUnwrapErr().message) ?? [];
      memory.dns.remove(`_portside.${DOMAIN}`);
      memory.dns.add({ type: "TXT", name: `_portside.${DOMAIN}`, value: proof });
    },
    /** Runs one attempt of the keeper, and another call at the same time. */
    race: async (order: fc.Scheduler, call: Call) => {
      scheduler = order;
      const stopping = new AbortController();
      const kept = controlPlane.keepCertificates({ signal: stopping.signal, lookMs: 3_600_000 });
      const called = call();
      await order.waitIdle();
      const result = await called;
      scheduler = undefined;
      stopping.abort();
      await clock.advance(1);
      await kept;
      return { result, ...(await certificates.find(DOMAIN))._unsafeUnwrap() };
    },
  };
};

test("a check during a failing order is not lost", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (order) => {
      const { race, check } = await start(CHECKED_FAILURES + 2);
      const { failures, reason, result } = await race(order, check);
      expect(result.isOk()).toBe(true);
      // The check precedes the failure or follows it.
      expect([CHECKED_FAILURES + 1, CHECKED_FAILURES]).toContain(failures);
      expect(reason).toContain("could not validate the host");
    }),
    { numRuns: 40 },
  );
});

test("the failure of an order for the previous owner does not count for the new one", async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (order) => {
      const { race, takeOver, prove } = await start(3);
      await prove();
      const { result, failures, reason } = await race(order, takeOver);
      // If the keeper changes the domain first, the request fails with `conflict`, and the owner stays the same.
      const isTaken = result.isOk();
      if (isTaken) taken++;
      expect([failures, reason]).toEqual(isTaken ? [0, null] : [4, expect.stringContaining("has a different value")]);
    }),
    { numRuns: 40 },
  );
  expect(taken).toBeGreaterThan(0);
});

test("a check while the budget is used up is not lost", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (order) => {
      const { race, check, certificates, platform, authority } = await start(CHECKED_FAILURES + 2);
      const { clock, principal } = platform;
      const begun = { authority: authority.name, url: "https://ca.example/order" };
      const counted: CertificateOrder = {
        account: principal().account,
        registeredDomain: "example.com" as DomainName,
        kind: "new",
        at: clock.now(),
      };
      const other = "other.example.com" as DomainName;
      for (let orders = 0; orders < orderLimits.newOrdersPerAccount; orders++)
        (await certificates.startOrder(other, begun, counted))._unsafeUnwrap();
      const { failures, reason, result } = await race(order, check);
      expect(result.isOk()).toBe(true);
      expect(failures).toBe(CHECKED_FAILURES);
      expect(reason).toContain("Authorities limit the certificates");
    }),
    { numRuns: 40 },
  );
});
