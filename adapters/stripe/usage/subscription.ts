/** Converts Stripe's subscriptions to Portside's. */
import type Stripe from "stripe";
import {
  formatInterval,
  type Subscription,
  type SubscriptionStatus,
  subscriptionStatuses,
} from "../../../core/domain/usage/subscription.ts";
import { instantOfSeconds, timestampOf } from "../../../core/domain/wire/instant.ts";

/** Maps Stripe's status. A status that Stripe adds later must not count as active. */
export const statusOf = (word: string): SubscriptionStatus =>
  subscriptionStatuses.find((known) => known === word) ?? "incomplete";

/**
 * Returns the price per interval in minor units, or null if it is not a fixed integer: for tiered, metered or packaged
 * prices, and for fractions of a minor unit.
 */
const amountOf = (items: readonly Stripe.SubscriptionItem[]): number | null => {
  let sum = 0;
  for (const { price, quantity = 1 } of items) {
    if (price.unit_amount === null || price.transform_quantity !== null) return null;
    if (price.recurring?.usage_type === "metered") return null;
    sum += price.unit_amount * quantity;
  }
  return Number.isSafeInteger(sum) ? sum : null;
};

/** Returns the value of the field `plan`: the lookup key of the price, or else its nickname; undefined without both. */
export const planOf = ({ price }: Stripe.SubscriptionItem): string | undefined =>
  price.lookup_key ?? price.nickname ?? undefined;

/** Returns the id of the price's product. If `planOf` returns undefined, the field `plan` is the product's name. */
export const productOf = ({ price }: Stripe.SubscriptionItem): string =>
  typeof price.product === "string" ? price.product : price.product.id;

const time = (seconds: number): string => timestampOf(instantOfSeconds(seconds));

/** @param plan the value of the field `plan` if `planOf` returns undefined for the first price */
export const subscriptionOf = (found: Stripe.Subscription, plan: string): Subscription => {
  const items = found.items.data;
  const [first] = items;
  const recurring = first?.price.recurring;
  return {
    plan: (first === undefined ? undefined : planOf(first)) ?? plan,
    status: statusOf(found.status),
    currency: found.currency.toUpperCase(),
    amount: amountOf(items),
    interval: recurring == null ? null : formatInterval(recurring.interval, recurring.interval_count),
    // Since 2025-03-31, each item has its own period: https://docs.stripe.com/changelog/basil/2025-03-31
    current_period_start: first === undefined ? null : time(first.current_period_start),
    current_period_end: first === undefined ? null : time(first.current_period_end),
    cancel_at_period_end: found.cancel_at_period_end,
    provider: "stripe",
  };
};
