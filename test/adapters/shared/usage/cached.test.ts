/** How often the cache calls the billing provider. */
import { expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { cachedBilling } from "../../../../adapters/shared/usage/cached.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { freeSubscription } from "../../../../core/domain/usage/subscription.ts";
import { unavailable } from "../../../../core/errors.ts";
import { err, ok, ResultAsync } from "../../../../core/result.ts";
import { billingOver, startStripe } from "../../../support/usage/stripe-server.ts";

const acme = "acme" as AccountId;

/** A provider whose responses wait until the test releases them. */
const held = () => {
  const waiting: ((down?: "down") => void)[] = [];
  const clock = createManualClock();
  const billing = cachedBilling(
    {
      subscription: () =>
        new ResultAsync(
          new Promise((resolve) => {
            waiting.push((down) =>
              resolve(down === undefined ? ok(freeSubscription("test")) : err(unavailable("down"))),
            );
          }),
        ),
    },
    clock,
  );
  return { billing, clock, waiting };
};

test("caches a response for a minute, per account", async () => {
  await using stripe = await startStripe();
  const { billing, clock } = await billingOver(stripe);
  const ask = async (account = acme) => (await billing.subscription(account))._unsafeUnwrap();
  await ask();
  await clock.advance(59_999);
  await ask();
  expect(stripe.asked).toHaveLength(1);
  await ask("beta" as AccountId);
  expect(stripe.asked).toHaveLength(2);
  await clock.advance(1);
  await ask();
  expect(stripe.asked).toHaveLength(3);
});

test("concurrent requests share a call", async () => {
  const { billing, waiting } = held();
  const answers = Promise.all([1, 2, 3].map(() => billing.subscription(acme)));
  expect(waiting).toHaveLength(1);
  waiting[0]?.();
  expect((await answers).every((answer) => answer.isOk())).toBe(true);
});

test("waiting requests share a failure, which is not cached", async () => {
  const { billing, waiting } = held();
  const answers = Promise.all([1, 2].map(() => billing.subscription(acme)));
  waiting[0]?.("down");
  expect((await answers).every((answer) => answer.isErr())).toBe(true);
  const next = billing.subscription(acme);
  expect(waiting).toHaveLength(2);
  waiting[1]?.();
  expect((await next).isOk()).toBe(true);
});

test("an aborted request does not affect the others", async () => {
  const { billing, waiting } = held();
  const leaving = new AbortController();
  const left = billing.subscription(acme, { signal: leaving.signal });
  const stayed = billing.subscription(acme);
  leaving.abort();
  expect((await left)._unsafeUnwrapErr().kind).toBe("unavailable");
  waiting[0]?.();
  expect((await stayed).isOk()).toBe(true);
});
