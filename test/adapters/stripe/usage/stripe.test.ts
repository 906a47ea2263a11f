/** Stripe's responses in their recorded shapes: which subscription counts, its price, and errors. */
import { describe, expect, test } from "vitest";
import { customerQuery } from "../../../../adapters/stripe/usage/stripe.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { recorder } from "../../../support/providers/memory-platform.ts";
import { billingOver, type StripeFault, startStripe } from "../../../support/usage/stripe-server.ts";
import { errorBody, item, price } from "../../../support/usage/stripe-shapes.ts";

const acme = "acme" as AccountId;
type Shape = Readonly<Record<string, unknown>>;

const withItems = (...data: readonly unknown[]): Shape => ({ items: { object: "list", data, has_more: false } });
const named = (lookup_key: string, fields: Shape): Shape => ({
  ...withItems(item({ price: price({ lookup_key }) })),
  ...fields,
});

/** The adapter's result for an account with these subscriptions. */
const subscriptionFor = async (...subscriptions: readonly Shape[]) => {
  await using stripe = await startStripe();
  stripe.add("acme", ...subscriptions);
  const { billing } = await billingOver(stripe);
  return (await billing.subscription(acme))._unsafeUnwrap();
};

describe("of several subscriptions, selects", () => {
  const old = { created: 1_700_000_000 };
  const young = { created: 1_750_000_000 };
  test.each([
    [
      "an active one before a newer cancelled one",
      [
        ["a", { ...old }],
        ["b", { ...young, status: "canceled" }],
      ],
    ],
    [
      "a trial before an unpaid one",
      [
        ["a", { ...old, status: "trialing" }],
        ["b", { ...young, status: "unpaid" }],
      ],
    ],
    [
      "one past due before one that was never paid",
      [
        ["b", { ...young, status: "incomplete" }],
        ["a", { ...old, status: "past_due" }],
      ],
    ],
    [
      "the newest of two active ones",
      [
        ["b", old],
        ["a", young],
      ],
    ],
    [
      "the newest of two ended ones",
      [
        ["b", { ...old, status: "canceled" }],
        ["a", { ...young, status: "canceled" }],
      ],
    ],
  ] as const)("%s", async (_words, subscriptions) => {
    expect((await subscriptionFor(...subscriptions.map(([plan, fields]) => named(plan, fields)))).plan).toBe("a");
  });

  test("one from any of the account's customers", async () => {
    await using stripe = await startStripe();
    stripe.add("acme", named("gone", { status: "canceled" }));
    stripe.add("acme", named("kept", {}));
    const { billing } = await billingOver(stripe);
    expect((await billing.subscription(acme))._unsafeUnwrap().plan).toBe("kept");
  });
});

describe("a subscription", () => {
  test("that has ended is reported as cancelled", async () => {
    expect(await subscriptionFor(named("pro", { status: "canceled", ended_at: 1_782_864_000 }))).toMatchObject({
      plan: "pro",
      status: "canceled",
      provider: "stripe",
    });
  });

  test("that is missing for an existing customer counts as the free plan", async () => {
    expect(await subscriptionFor()).toMatchObject({ plan: "free", status: "active", amount: null, provider: "stripe" });
  });

  test("of several items costs their sum", async () => {
    const seats = item({ price: price({ unit_amount: 700 }), quantity: 3 });
    expect((await subscriptionFor(withItems(item(), seats))).amount).toBe(2900 + 2100);
  });

  test.each([
    ["tiers", { unit_amount: null }],
    ["usage", { recurring: { interval: "month", interval_count: 1, meter: "mtr_1", usage_type: "metered" } }],
    ["packages", { transform_quantity: { divide_by: 10, round: "up" } }],
  ])("priced by %s has no amount", async (_words, fields) => {
    expect((await subscriptionFor(withItems(item({ price: price(fields) })))).amount).toBeNull();
  });

  test.each([
    ["its price's key", { lookup_key: "pro", nickname: "Professional" }, "pro"],
    ["its price's nickname", { lookup_key: null, nickname: "Professional" }, "Professional"],
    ["its product's name", { lookup_key: null, nickname: null }, "Portside Pro"],
  ])("is named by %s", async (_words, fields, plan) => {
    expect((await subscriptionFor(withItems(item({ price: price(fields) })))).plan).toBe(plan);
  });

  test("with an unknown status does not count as active", async () => {
    expect((await subscriptionFor(named("pro", { status: "suspended_in_2030" }))).status).toBe("incomplete");
  });
});

test("an account's name cannot escape the search query", () => {
  expect(customerQuery("it's \\ OR email:'x'")).toBe("metadata['portside_account']:'it\\'s \\\\ OR email:\\'x\\''");
});

describe("errors", () => {
  const troubles: readonly (readonly [string, StripeFault, number])[] = [
    [
      "too many requests",
      {
        status: 429,
        body: errorBody("rate_limit_error", "rate_limit", "slow"),
        headers: { "retry-after": "7", "stripe-should-retry": "false" },
      },
      7,
    ],
    ["an outage", { status: 503, body: errorBody("api_error", undefined, "down") }, 5],
    [
      "a wrong key",
      { status: 401, body: errorBody("invalid_request_error", undefined, "Invalid API Key provided: sk_test_123") },
      60,
    ],
    [
      "a key with too few rights",
      { status: 403, body: errorBody("invalid_request_error", undefined, "sk_test_123 may not") },
      60,
    ],
    ["a rejected request", { status: 400, body: errorBody("invalid_request_error", "parameter_unknown", "no") }, 60],
    ["a connection that breaks", "hangs up", 5],
  ];

  test.each(troubles)(
    "%s: fails with `unavailable`, and logs the cause without the key",
    async (_words, trouble, retryAfter) => {
      await using stripe = await startStripe();
      const { logger } = recorder();
      const fields: unknown[] = [];
      const { billing } = await billingOver(stripe, { ...logger, warn: (_message, more) => void fields.push(more) });
      stripe.trouble = trouble;
      const error = (await billing.subscription(acme))._unsafeUnwrapErr();
      expect(error).toMatchObject({ kind: "unavailable", retryAfterSeconds: retryAfter });
      expect(error.message).not.toMatch(/sk_test|Stripe/);
      expect(fields).toEqual([expect.objectContaining({ type: expect.stringMatching(/^Stripe\w+Error$/) })]);
      expect(JSON.stringify(fields)).not.toContain("sk_test");
      stripe.trouble = undefined;
      expect((await billing.subscription(acme)).isOk()).toBe(true);
    },
  );
});
