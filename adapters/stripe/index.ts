/** Billing adapters: none, or Stripe. */
export { noBilling } from "../shared/usage/none.ts";
export { createStripeClient } from "./usage/client.ts";
export { ACCOUNT_KEY, createStripeBilling } from "./usage/stripe.ts";
