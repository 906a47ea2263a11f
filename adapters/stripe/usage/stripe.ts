/**
 * Reads subscriptions from Stripe. The metadata field `portside_account` of a Stripe customer contains the account. The
 * system that sells the subscriptions must set this field when it creates the customer.
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

/** The metadata key that contains the account of a Stripe customer. */
export const ACCOUNT_KEY = "portside_account";

/** Quotes a value for Stripe's search language: https://docs.stripe.com/search#search-query-language */
const quoted = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

export const customerQuery = (account: string): string => `metadata['${ACCOUNT_KEY}']:${quoted(account)}`;

/** The maximum page size. */
const PAGE = 100;

/** Returns the account's customers. Filters the results again, because Stripe's search ignores case. */
export const customersOf = async (stripe: Stripe, account: AccountId): Promise<Stripe.Customer[]> => {
  const found: Stripe.Customer[] = [];
  for await (const customer of stripe.customers.search({ query: customerQuery(account), limit: PAGE }))
    if (customer.metadata[ACCOUNT_KEY] === account) found.push(customer);
  return found;
};

/** Returns at most 100 subscriptions of a customer, including ended ones. */
export const subscriptionsOf = async (stripe: Stripe, customer: string): Promise<Stripe.Subscription[]> =>
  (await stripe.subscriptions.list({ customer, status: "all", limit: PAGE })).data;

/**
 * Returns the value of the field `plan`: the name of the first price, or else the name of its product. If the
 * subscription has no items, returns its id.
 */
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

/**
 * Returns subscriptions from Stripe, cached for one minute per account.
 *
 * @param stripe a client of the official package; it needs read access to customers, subscriptions and products only
 */
export const createStripeBilling = (stripe: Stripe, { clock, logger }: { clock: Clock; logger: Logger }): Billing => {
  const attempt = async (account: AccountId): Promise<Result<Subscription, Unavailable>> => {
    try {
      return ok(await lookUp(stripe, account));
    } catch (cause) {
      const known = stripeError(cause);
      if (known === undefined) throw cause;
      logger.warn("could not read a subscription from Stripe", stripeErrorForLogs(cause));
      return err(known);
    }
  };
  return cachedBilling({ subscription: (account) => new ResultAsync(attempt(account)) }, clock);
};
