/** The subscription of an account: which of several subscriptions counts, and how an interval is formatted. */
import { expect, test } from "vitest";
import {
  formatInterval,
  freeSubscription,
  mostRelevant,
  type SubscriptionStatus,
  subscriptionSchema,
  subscriptionStatuses,
} from "../../../../core/domain/usage/subscription.ts";

test("an account without a subscription has the free plan, which is active", () => {
  expect(freeSubscription("stripe")).toEqual({
    plan: "free",
    status: "active",
    currency: null,
    amount: null,
    interval: null,
    current_period_start: null,
    current_period_end: null,
    cancel_at_period_end: null,
    provider: "stripe",
  });
  expect(subscriptionSchema.parse(freeSubscription("none"))).toEqual(freeSubscription("none"));
});

test.each([
  ["month", 1, "month"],
  ["month", 3, "3 months"],
  ["year", 2, "2 years"],
])("%s, %i: %s", (unit, count, words) => expect(formatInterval(unit, count)).toBe(words));

const of = (status: SubscriptionStatus, created = 0) => ({ status, created });

test("active and trialing take precedence over past_due, and past_due over the rest, whatever the age", () => {
  const giving: SubscriptionStatus[] = ["active", "trialing"];
  const others = subscriptionStatuses.filter((status) => ![...giving, "past_due"].includes(status));
  for (const good of giving)
    for (const bad of ["past_due", ...others] as const)
      for (const all of [
        [of(good, 1), of(bad, 2)],
        [of(bad, 2), of(good, 1)],
      ])
        expect(mostRelevant(all)).toEqual(of(good, 1));
  for (const bad of others)
    for (const all of [
      [of("past_due", 1), of(bad, 2)],
      [of(bad, 2), of("past_due", 1)],
    ])
      expect(mostRelevant(all)).toEqual(of("past_due", 1));
});

test("of subscriptions with equal precedence, the newest counts, and the input is not changed", () => {
  const all = [of("active", 2), of("trialing", 3), of("active", 1)];
  expect(mostRelevant(all)).toEqual(of("trialing", 3));
  expect(mostRelevant([of("canceled", 5), of("unpaid", 4)])).toEqual(of("canceled", 5));
  expect(all.map(({ created }) => created)).toEqual([2, 3, 1]);
  expect(mostRelevant([])).toBeUndefined();
});
