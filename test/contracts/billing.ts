/** The contract suite of `Billing`. */
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { freeSubscription, type Subscription, subscriptionSchema } from "../../core/domain/usage/subscription.ts";
import type { Billing } from "../../core/ports/billing.ts";
import type { ContractCase } from "./harness.ts";
import { expectError, expectOk } from "./support.ts";

/** A billing adapter under test. */
export interface BillingSubject {
  readonly billing: Billing;
  /** Returns an account that no other case uses. */
  account(): AccountId;
  /** Sells the subscription to the account at the billing provider. */
  sell(account: AccountId, sold: Omit<Subscription, "provider">): Promise<void>;
  /** Makes the billing provider unreachable, or reachable again. */
  down(is: boolean): void;
}

const monthly = {
  plan: "pro",
  status: "active",
  currency: "USD",
  amount: 2900,
  interval: "month",
  current_period_start: "2026-11-01T00:00:00+00:00",
  current_period_end: "2026-12-01T00:00:00+00:00",
  cancel_at_period_end: false,
} as const;

/** Returns an account that differs only in case. */
const capital = (account: AccountId): AccountId => account.replace(/[a-z]/, (one) => one.toUpperCase()) as AccountId;

/** The contract suite of `Billing`. */
export const billingCases: readonly ContractCase<BillingSubject>[] = [
  {
    group: "free",
    name: "an account without a subscription has the free plan",
    run: async ({ billing, account }) => {
      const { provider, ...rest } = await expectOk(billing.subscription(account()));
      expect(provider).toMatch(/^[a-z]+$/);
      expect(rest).toEqual((({ provider: _provider, ...free }) => free)(freeSubscription("any")));
    },
  },
  {
    group: "subscription",
    name: "returns a sold subscription field by field",
    run: async ({ billing, account, sell }) => {
      const yearly = { ...monthly, plan: "team", interval: "year", amount: 123_456_78, currency: "EUR" } as const;
      const ending = { ...monthly, status: "past_due", interval: "3 months", cancel_at_period_end: true } as const;
      for (const sold of [monthly, yearly, ending, { ...monthly, amount: 0, status: "trialing" } as const]) {
        const owner = account();
        await sell(owner, sold);
        const subscription = await expectOk(billing.subscription(owner));
        expect(subscription).toMatchObject(sold);
        expect(subscriptionSchema.parse(subscription)).toEqual(subscription);
      }
    },
  },
  {
    group: "scope",
    name: "a subscription is not visible to another account, even to one with a similar name",
    run: async ({ billing, account, sell }) => {
      const owner = account();
      await sell(owner, monthly);
      for (const other of [account(), capital(owner), `${owner}0` as AccountId, `x${owner}` as AccountId])
        expect((await expectOk(billing.subscription(other))).plan).toBe("free");
    },
  },
  {
    group: "scope",
    name: "accepts every valid account name",
    run: async ({ billing, account, sell }) => {
      const owner = `${account()}:a.b_c@d/e|f+g-h` as AccountId;
      await sell(owner, monthly);
      expect((await expectOk(billing.subscription(owner))).plan).toBe("pro");
    },
  },
  {
    group: "down",
    name: "fails with unavailable while the billing provider is unreachable, and works afterwards",
    run: async ({ billing, account, sell, down }) => {
      const owner = account();
      await sell(owner, monthly);
      down(true);
      try {
        const error = await expectError(billing.subscription(owner));
        expect(error.kind).toBe("unavailable");
        expect(error.retryAfterSeconds).toBeGreaterThan(0);
        expect(error.message).not.toContain(owner);
      } finally {
        down(false);
      }
      expect((await expectOk(billing.subscription(owner))).plan).toBe("pro");
    },
  },
];
