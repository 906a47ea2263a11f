/** A subscription as Stripe writes it, in the contract's words. */
import type Stripe from "stripe";
import {
  intervalInWords,
  type Subscription,
  type SubscriptionStatus,
  subscriptionStatuses,
} from "../../../core/domain/usage/subscription.ts";
import { instantOfSeconds, timestampOf } from "../../../core/domain/wire/instant.ts";

/** A status that Stripe adds one day is none to rely on. */
export const statusOf = (word: string): SubscriptionStatus =>
  subscriptionStatuses.find((known) => known === word) ?? "incomplete";

/** A price in tiers, by usage, or of less than a minor unit has no amount that could be told beforehand. */
const amountOf = (items: readonly Stripe.SubscriptionItem[]): number | null => {
  let sum = 0;
  for (const { price, quantity = 1 } of items) {
    if (price.unit_amount === null || price.transform_quantity !== null) return null;
    if (price.recurring?.usage_type === "metered") return null;
    sum += price.unit_amount * quantity;
  }
  return Number.isSafeInteger(sum) ? sum : null;
};

/** The plan's name: the price's key, which is made to be read by programs, else a name that people gave it. */
export const planOf = ({ price }: Stripe.SubscriptionItem): string | undefined =>
  price.lookup_key ?? price.nickname ?? undefined;

/** The product that a plan without a name of its own belongs to. */
export const productOf = ({ price }: Stripe.SubscriptionItem): string =>
  typeof price.product === "string" ? price.product : price.product.id;

const time = (seconds: number): string => timestampOf(instantOfSeconds(seconds));

/** @param plan the name where the subscription's first price has none */
export const subscriptionOf = (found: Stripe.Subscription, plan: string): Subscription => {
  const items = found.items.data;
  const [first] = items;
  const recurring = first?.price.recurring;
  return {
    plan: (first === undefined ? undefined : planOf(first)) ?? plan,
    status: statusOf(found.status),
    currency: found.currency.toUpperCase(),
    amount: amountOf(items),
    interval: recurring == null ? null : intervalInWords(recurring.interval, recurring.interval_count),
    // Items may have periods of their own since 2025-03-31: https://docs.stripe.com/changelog/basil/2025-03-31
    current_period_start: first === undefined ? null : time(first.current_period_start),
    current_period_end: first === undefined ? null : time(first.current_period_end),
    cancel_at_period_end: found.cancel_at_period_end,
    provider: "stripe",
  };
};
