/** Who collects money from accounts; chosen apart from the provider, as identity is. */
import type { AccountId } from "../domain/account.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

export interface Billing {
  /**
   * What the account pays for, at most a minute old; an account that the billing provider does not know has the free
   * plan. Of several subscriptions it is the one that counts (`mostRelevant`). Accounts are told apart to the letter,
   * case included. `unavailable`: the billing provider is down, or refuses the platform; the message names neither
   * the account nor any secret.
   */
  subscription(account: AccountId, options?: CallOptions): ResultAsync<Subscription, Unavailable>;
}
