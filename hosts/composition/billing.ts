/** Who collects the money: Stripe where there is a key for it, else nobody. */
import { noBilling } from "../../adapters/billing/none.ts";
import type { Billing } from "../../core/ports/billing.ts";
import type { Ambient } from "./providers.ts";
import type { ServeSettings } from "./settings.ts";

export const createBilling = async (settings: ServeSettings, ambient: Ambient): Promise<Billing> => {
  const { stripeKey, stripeUrl } = settings;
  if (stripeKey === undefined) return noBilling;
  const { createStripeClient } = await import("../../adapters/billing/stripe-client.ts");
  const { createStripeBilling } = await import("../../adapters/billing/stripe.ts");
  return createStripeBilling(await createStripeClient(stripeKey, stripeUrl), ambient);
};
