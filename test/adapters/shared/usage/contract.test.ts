/** The Stripe adapter passes the contract of the billing port. */

import type { Subscription } from "../../../../core/domain/usage/subscription.ts";
import { parseInstant, secondsOf } from "../../../../core/domain/wire/instant.ts";
import { billingCases, contractTests, freshNames } from "../../../contracts/index.ts";
import { billingOver, startStripe } from "../../../support/usage/stripe-server.ts";
import { errorBody, item, price } from "../../../support/usage/stripe-shapes.ts";

const seconds = (time: string | null): number => {
  const instant = parseInstant(time ?? "");
  if (instant === undefined) throw new Error(`'${time}' is no time`);
  return secondsOf(instant);
};

/** Subscriptions in Stripe's format. */
const shapeOf = (sold: Omit<Subscription, "provider">) => {
  const [, count = "1", unit = "month"] = /^(?:(\d+) )?([a-z]+?)s?$/.exec(sold.interval ?? "") ?? [];
  const recurring = { interval: unit, interval_count: Number(count), meter: null, usage_type: "licensed" };
  const one = item({
    price: price({ lookup_key: sold.plan, unit_amount: sold.amount, recurring }),
    current_period_start: seconds(sold.current_period_start),
    current_period_end: seconds(sold.current_period_end),
  });
  return {
    status: sold.status,
    currency: sold.currency?.toLowerCase(),
    cancel_at_period_end: sold.cancel_at_period_end,
    items: { object: "list", data: [one], has_more: false, url: "/v1/subscription_items" },
  };
};

contractTests("Stripe", billingCases, async () => {
  const stripe = await startStripe();
  const { billing } = await billingOver(stripe);
  return {
    subject: {
      billing,
      account: freshNames("stripe").account,
      sell: async (account, sold) => stripe.add(account, shapeOf(sold)),
      down: (is) => {
        stripe.trouble = is ? { status: 500, body: errorBody("api_error", undefined, "down") } : undefined;
      },
    },
    close: async () => stripe[Symbol.asyncDispose](),
  };
});
