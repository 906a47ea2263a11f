/** Port for subscriptions. Independent of the provider, like identity. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { Subscription } from "../domain/usage/subscription.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

export interface Billing {
  /**
   * Returns the account's subscription, at most one minute old. An account that the billing provider does not know has the
   * free plan. If an account has several subscriptions, `mostRelevant` decides. Account names are case-sensitive.
   *
   * Fails with `unavailable` if the billing provider is down or refuses the request. The message must not contain the
   * account or a secret.
   */
  subscription(account: AccountId, options?: CallOptions): ResultAsync<Subscription, Unavailable>;
}
