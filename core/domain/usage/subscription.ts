/** The subscription of an account, independent of the billing provider. */
import { z } from "zod";

/** Stripe's names: https://docs.stripe.com/api/subscriptions/object */
export const subscriptionStatuses = [
  "active",
  "trialing",
  "past_due",
  "unpaid",
  "paused",
  "incomplete",
  "incomplete_expired",
  "canceled",
] as const;

/** The status of a subscription, in Stripe's terms. */
export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

const time = z.string().meta({ format: "date-time" });

/** The schema of `GET /v1/user/subscription`. */
export const subscriptionSchema = z
  .object({
    plan: z.string().meta({ examples: ["free", "pro"] }),
    status: z.enum(subscriptionStatuses),
    currency: z
      .string()
      .nullable()
      .meta({ description: "ISO 4217 code, in upper case.", examples: ["USD"] }),
    amount: z.int().nullable().meta({
      description:
        "The price per interval in the currency's minor unit; null for a free plan or a price that depends on usage.",
    }),
    interval: z
      .string()
      .nullable()
      .meta({ examples: ["month", "3 months", "year"] }),
    current_period_start: time.nullable(),
    current_period_end: time.nullable(),
    cancel_at_period_end: z.boolean().nullable(),
    provider: z.string().meta({ description: "The billing provider.", examples: ["none", "stripe"] }),
  })
  .readonly();

/** The subscription of an account. Amounts are in the minor unit of the currency, such as cents. */
export type Subscription = z.output<typeof subscriptionSchema>;

/** Returns the subscription of an account that does not pay. */
export const freeSubscription = (provider: string): Subscription => ({
  plan: "free",
  status: "active",
  currency: null,
  amount: null,
  interval: null,
  current_period_start: null,
  current_period_end: null,
  cancel_at_period_end: null,
  provider,
});

/** Formats an interval: `month`, `3 months`. */
export const formatInterval = (unit: string, count: number): string => (count === 1 ? unit : `${count} ${unit}s`);

/** Ranks active and trialing subscriptions first, then past-due subscriptions, then all others. */
const rank = (status: SubscriptionStatus): number =>
  status === "active" || status === "trialing" ? 0 : status === "past_due" ? 1 : 2;

/**
 * Selects the subscription that counts for an account: the newest of the highest rank. Returns undefined for an empty
 * list.
 */
export const mostRelevant = <S extends { readonly status: SubscriptionStatus; readonly created: number }>(
  all: readonly S[],
): S | undefined => [...all].sort((a, b) => rank(a.status) - rank(b.status) || b.created - a.created)[0];
