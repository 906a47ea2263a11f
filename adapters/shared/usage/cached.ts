/** Caches subscriptions for one minute per account, and shares concurrent calls for an account. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Subscription } from "../../../core/domain/usage/subscription.ts";
import { plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Billing } from "../../../core/ports/billing.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { CachedCalls } from "../calls/cached-calls.ts";

const KEPT_MS = 60_000;
/** Maximum number of cached accounts. */
const KEPT_ACCOUNTS = 10_000;

/** Does not cache failures: the next call may succeed. */
export const cachedBilling = (billing: Billing, clock: Clock): Billing => {
  const calls = new CachedCalls<AccountId, Subscription>({
    clock,
    textOf: (account) => account,
    // The list always contains one account, because `subscription` reads one account per call.
    read: ([account]) => billing.subscription(account as AccountId).map((subscription) => [subscription]),
    expiryOf: (now) => plusMillis(now, KEPT_MS),
    maxSize: KEPT_ACCOUNTS,
  });
  return { subscription: (account, options = {}) => calls.get(account, options) };
};
