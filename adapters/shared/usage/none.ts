/** Billing without a payment system: every account has the free subscription. */
import { freeSubscription } from "../../../core/domain/usage/subscription.ts";
import type { Billing } from "../../../core/ports/billing.ts";
import { okAsync } from "../../../core/result.ts";

export const noBilling: Billing = { subscription: () => okAsync(freeSubscription("none")) };
