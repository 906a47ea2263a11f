/**
 * Subscriptions that Stripe keeps. A customer belongs to the account in its metadata, under `portside_account`;
 * whoever sells the plans writes it there when the customer is made.
 */
import type Stripe from "stripe";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { freeSubscription, mostRelevant, type Subscription } from "../../../core/domain/usage/subscription.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Billing } from "../../../core/ports/billing.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { cachedBilling } from "../../shared/usage/cached.ts";
import { stripeError, stripeErrorForLogs } from "./errors.ts";
import { planOf, productOf, statusOf, subscriptionOf } from "./subscription.ts";

export const ACCOUNT_KEY = "portside_account";

/** A value in Stripe's search language: https://docs.stripe.com/search#search-query-language */
const quoted = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

export const customerQuery = (account: string): string => `metadata['${ACCOUNT_KEY}']:${quoted(account)}`;

/** Pages hold at most a hundred. */
const PAGE = 100;

/** The customers of the account. Stripe's search does not tell case, so its findings are looked at again. */
export const customersOf = async (stripe: Stripe, account: AccountId): Promise<Stripe.Customer[]> => {
  const found: Stripe.Customer[] = [];
  for await (const customer of stripe.customers.search({ query: customerQuery(account), limit: PAGE }))
    if (customer.metadata[ACCOUNT_KEY] === account) found.push(customer);
  return found;
};

/** Every subscription of a customer, ended ones among them. */
export const subscriptionsOf = async (stripe: Stripe, customer: string): Promise<Stripe.Subscription[]> =>
  (await stripe.subscriptions.list({ customer, status: "all", limit: PAGE })).data;

/** The name of the plan: its own, else its product's. */
const planName = async (stripe: Stripe, found: Stripe.Subscription): Promise<string> => {
  const [item] = found.items.data;
  if (item === undefined) return found.id;
  return planOf(item) ?? (await stripe.products.retrieve(productOf(item))).name;
};

const lookUp = async (stripe: Stripe, account: AccountId): Promise<Subscription> => {
  const customers = await customersOf(stripe, account);
  const all = await Promise.all(customers.map(({ id }) => subscriptionsOf(stripe, id)));
  const candidates = all.flat().map((found) => ({ found, status: statusOf(found.status), created: found.created }));
  const best = mostRelevant(candidates)?.found;
  return best === undefined ? freeSubscription("stripe") : subscriptionOf(best, await planName(stripe, best));
};

/** @param stripe a client of the official package; it needs to read customers, subscriptions and products, no more */
export const createStripeBilling = (stripe: Stripe, { clock, logger }: { clock: Clock; logger: Logger }): Billing => {
  const attempt = async (account: AccountId): Promise<Result<Subscription, Unavailable>> => {
    try {
      return ok(await lookUp(stripe, account));
    } catch (cause) {
      const known = stripeError(cause);
      if (known === undefined) throw cause;
      logger.warn("Stripe did not answer for an account", stripeErrorForLogs(cause));
      return err(known);
    }
  };
  return cachedBilling({ subscription: (account) => new ResultAsync(attempt(account)) }, clock);
};
