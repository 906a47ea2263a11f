/** Port for subscriptions. It is independent of the provider that runs the services. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { Subscription } from "../domain/usage/subscription.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** Reads subscriptions from a billing provider. */
export interface Billing {
  /**
   * Returns the account's subscription. The result may be up to 60 seconds old.
   *
   * Returns `freeSubscription` if the billing provider has no data about the account. If the account has several
   * subscriptions, the adapter must select one with `mostRelevant`. Must compare account names case-sensitively.
   *
   * Fails with `unavailable` if the billing provider is down or rejects the request. The message must not contain the
   * account or a secret.
   */
  subscription(account: AccountId, options?: CallOptions): ResultAsync<Subscription, Unavailable>;
}
