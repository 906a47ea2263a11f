/** Who collects money from accounts: nobody, or Stripe. */
export { noBilling } from "./none.ts";
export { ACCOUNT_KEY, createStripeBilling } from "./stripe.ts";
export { createStripeClient } from "./stripe-client.ts";
