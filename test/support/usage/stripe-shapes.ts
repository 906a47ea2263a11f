/**
 * Stripe's JSON in its API version 2026-10-28, reduced to the fields that an adapter may read. The fields are those of
 * stripe-mock's fixtures, so that a test against stripe-mock can check them.
 */

export interface PriceShape {
  readonly currency: string;
  readonly unit_amount: number | null;
  readonly lookup_key: string | null;
  readonly nickname: string | null;
  readonly product: string;
  readonly recurring: { interval: string; interval_count: number; meter: string | null; usage_type: string } | null;
  readonly transform_quantity: { divide_by: number; round: string } | null;
  readonly [field: string]: unknown;
}

export const price = (fields: Partial<PriceShape> = {}): PriceShape => ({
  id: "price_1",
  object: "price",
  active: true,
  billing_scheme: "per_unit",
  created: 1_721_948_530,
  currency: "usd",
  custom_unit_amount: null,
  livemode: false,
  lookup_key: "pro",
  metadata: {},
  nickname: null,
  product: "prod_1",
  recurring: { interval: "month", interval_count: 1, meter: null, usage_type: "licensed" },
  tax_behavior: "unspecified",
  tiers_mode: null,
  transform_quantity: null,
  type: "recurring",
  unit_amount: 2900,
  unit_amount_decimal: "2900",
  ...fields,
});

const JUNE = 1_780_272_000;
const JULY = 1_782_864_000;

export const item = (fields: Readonly<Record<string, unknown>> = {}) => ({
  id: "si_1",
  object: "subscription_item",
  billing_thresholds: null,
  created: JUNE,
  current_period_end: JULY,
  current_period_start: JUNE,
  discounts: [],
  metadata: {},
  price: price(),
  quantity: 1,
  subscription: "sub_1",
  tax_rates: [],
  ...fields,
});

export interface SubscriptionShape {
  readonly id: string;
  readonly customer: string;
  readonly status: string;
  readonly created: number;
  readonly [field: string]: unknown;
}

export const subscription = (fields: Readonly<Record<string, unknown>> = {}, items = [item()]): SubscriptionShape => ({
  id: "sub_1",
  object: "subscription",
  cancel_at: null,
  cancel_at_period_end: false,
  canceled_at: null,
  collection_method: "charge_automatically",
  created: JUNE,
  currency: "usd",
  customer: "cus_1",
  ended_at: null,
  items: { object: "list", data: items, has_more: false, url: "/v1/subscription_items?subscription=sub_1" },
  latest_invoice: null,
  livemode: false,
  metadata: {},
  start_date: JUNE,
  status: "active",
  trial_end: null,
  trial_start: null,
  ...fields,
});

export const customer = (id: string, account: string) => ({
  id,
  object: "customer",
  created: JUNE,
  email: null,
  livemode: false,
  metadata: { portside_account: account },
  name: null,
});

/** An error's body: https://docs.stripe.com/api/errors */
export const errorBody = (type: string, code: string | undefined, message: string) => ({
  error: { ...(code === undefined ? {} : { code }), message, type },
});
