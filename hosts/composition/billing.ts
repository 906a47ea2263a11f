/** Billing: Stripe if the settings have a key for it, otherwise the free plan for every account. */
import { createStripeBilling, createStripeClient, noBilling } from "../../adapters/stripe/index.ts";
import type { Billing } from "../../core/ports/billing.ts";
import type { RuntimeDeps } from "../../core/ports/provider-module.ts";
import type { ServeSettings } from "./settings.ts";

export const createBilling = async ({ stripeKey, stripeUrl }: ServeSettings, deps: RuntimeDeps): Promise<Billing> =>
  stripeKey === undefined ? noBilling : createStripeBilling(await createStripeClient(stripeKey, stripeUrl), deps);
