/** `GET /v1/user/subscription` returns the caller's subscription, or 503 with Retry-After. */
import { expect, test } from "vitest";
import { parseAccount } from "../../../../core/domain/accounts/account.ts";
import { freeSubscription } from "../../../../core/domain/usage/subscription.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { detailOf } from "../../../support/http/refusals.ts";

const path = "/v1/user/subscription";

test("an account without a subscription has the free plan", async () => {
  await using api = await serveMemory();
  const answer = await api.call("GET", path);
  expect(answer.text).toBe(
    '{"plan":"free","status":"active","currency":null,"amount":null,"interval":null,"current_period_start":null,"current_period_end":null,"cancel_at_period_end":null,"provider":"none"}',
  );
});

test("each account has its own subscription", async () => {
  await using api = await serveMemory();
  const acme = parseAccount("acme");
  if (acme === undefined) throw new Error("acme is an account");
  api.memory.billing.subscribe(acme, { ...freeSubscription("any"), plan: "pro", amount: 2900, currency: "USD" });
  expect((await api.call("GET", path)).json).toMatchObject({ plan: "pro", amount: 2900, currency: "USD" });
  expect((await api.call("GET", path, { account: "beta" })).json).toEqual(freeSubscription("none"));
});

test("returns 503 with Retry-After if the billing provider is down", async () => {
  await using api = await serveMemory();
  api.memory.billing.down(true);
  const answer = await api.call("GET", path);
  expect(detailOf(answer, 503)).toBe("The billing provider does not respond. Try again.");
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
});
