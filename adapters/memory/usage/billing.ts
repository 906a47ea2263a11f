/** In-memory subscriptions. Every account has the free subscription until a test changes it. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { freeSubscription, type Subscription } from "../../../core/domain/usage/subscription.ts";
import { unavailable } from "../../../core/errors.ts";
import type { Billing } from "../../../core/ports/billing.ts";
import { errAsync, okAsync } from "../../../core/result.ts";

/** The `Billing` of the memory provider, with its test controls. */
export interface MemoryBilling extends Billing {
  /** Sets the subscription of an account. */
  subscribe(account: AccountId, subscription: Omit<Subscription, "provider">): void;
  /** Simulates an outage (`true`) or its end (`false`). */
  down(is: boolean): void;
}

export const createMemoryBilling = (): MemoryBilling => {
  const subscriptions = new Map<AccountId, Subscription>();
  let isDown = false;
  return {
    subscription: (account) =>
      isDown
        ? errAsync(unavailable("The billing provider does not respond. Try again."))
        : okAsync(subscriptions.get(account) ?? freeSubscription("none")),
    subscribe: (account, subscription) => void subscriptions.set(account, { ...subscription, provider: "memory" }),
    down: (is) => {
      isDown = is;
    },
  };
};
