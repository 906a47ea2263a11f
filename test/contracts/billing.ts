/** The promises of `Billing`. */
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { freeSubscription, type Subscription, subscriptionSchema } from "../../core/domain/usage/subscription.ts";
import type { Billing } from "../../core/ports/billing.ts";
import type { ContractCase } from "./harness.ts";
import { expectError, expectOk } from "./support.ts";

export interface BillingSubject {
  readonly billing: Billing;
  /** An account that no case had before. */
  account(): AccountId;
  /** Sells it to the account, as whoever runs the billing provider would. */
  sell(account: AccountId, sold: Omit<Subscription, "provider">): Promise<void>;
  /** Lets the billing provider answer no more, or again. */
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

/** Another account, as near as can be. */
const capital = (account: AccountId): AccountId => account.replace(/[a-z]/, (one) => one.toUpperCase()) as AccountId;

export const billingCases: readonly ContractCase<BillingSubject>[] = [
  {
    group: "free",
    name: "an account that pays for nothing has the free plan",
    run: async ({ billing, account }) => {
      const { provider, ...rest } = await expectOk(billing.subscription(account()));
      expect(provider).toMatch(/^[a-z]+$/);
      expect(rest).toEqual((({ provider: _provider, ...free }) => free)(freeSubscription("any")));
    },
  },
  {
    group: "subscription",
    name: "what was sold is told, field by field",
    run: async ({ billing, account, sell }) => {
      const yearly = { ...monthly, plan: "team", interval: "year", amount: 123_456_78, currency: "EUR" } as const;
      const ending = { ...monthly, status: "past_due", interval: "3 months", cancel_at_period_end: true } as const;
      for (const sold of [monthly, yearly, ending, { ...monthly, amount: 0, status: "trialing" } as const]) {
        const owner = account();
        await sell(owner, sold);
        const told = await expectOk(billing.subscription(owner));
        expect(told).toMatchObject(sold);
        expect(subscriptionSchema.parse(told)).toEqual(told);
      }
    },
  },
  {
    group: "scope",
    name: "another account has nothing of it, however near its name is",
    run: async ({ billing, account, sell }) => {
      const owner = account();
      await sell(owner, monthly);
      for (const other of [account(), capital(owner), `${owner}0` as AccountId, `x${owner}` as AccountId])
        expect((await expectOk(billing.subscription(other))).plan).toBe("free");
    },
  },
  {
    group: "scope",
    name: "an account may have any name that the platform gives",
    run: async ({ billing, account, sell }) => {
      const owner = `${account()}:a.b_c@d/e|f+g-h` as AccountId;
      await sell(owner, monthly);
      expect((await expectOk(billing.subscription(owner))).plan).toBe("pro");
    },
  },
  {
    group: "down",
    name: "a billing provider that is down is unavailable, and answers again afterwards",
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
