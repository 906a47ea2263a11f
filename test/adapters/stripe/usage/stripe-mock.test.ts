/** Stripe's own mock accepts Portside's requests, and Portside can parse its responses. */
import { type ChildProcess, spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createStripeClient } from "../../../../adapters/stripe/usage/client.ts";
import { customersOf, subscriptionsOf } from "../../../../adapters/stripe/usage/stripe.ts";
import { subscriptionOf } from "../../../../adapters/stripe/usage/subscription.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { subscriptionSchema } from "../../../../core/domain/usage/subscription.ts";
import { billingOver } from "../../../support/usage/stripe-server.ts";
import { item, price, subscription } from "../../../support/usage/stripe-shapes.ts";
import { has, needs } from "../../../support/vitest/machine.ts";

const acme = "acme" as AccountId;
let mock: ChildProcess | undefined;
let url = "";

/** Returns the address that the mock prints once it listens. */
const listening = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = "";
    child.stdout?.on("data", (chunk) => {
      output += chunk;
      const port = /Listening for HTTP at address: .*:(\d+)/.exec(output)?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    child.once("exit", () => reject(new Error(`stripe-mock ended: ${output}`)));
  });

beforeAll(async () => {
  if (!has("stripe-mock")) return;
  mock = spawn("stripe-mock", ["-http-addr", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  url = await listening(mock);
});
afterAll(() => void mock?.kill("SIGKILL"));

describe("Stripe's mock", () => {
  test("accepts the search for an account's customers, and Portside ignores the customers of other accounts", async (context) => {
    needs(context, "stripe-mock");
    expect(await customersOf(await createStripeClient("sk_test_123", url), acme)).toEqual([]);
  });

  test("accepts the list of a customer's subscriptions, and its response can be parsed", async (context) => {
    needs(context, "stripe-mock");
    const [found] = await subscriptionsOf(await createStripeClient("sk_test_123", url), "cus_1");
    if (found === undefined) throw new Error("the mock has no subscription");
    const subscription = subscriptionOf(found, "plan");
    expect(subscriptionSchema.parse(subscription)).toEqual(subscription);
    expect(subscription).toMatchObject({ status: "active", currency: "USD", interval: "month" });
  });

  test("has every field of the recorded shapes", async (context) => {
    needs(context, "stripe-mock");
    const [found] = await subscriptionsOf(await createStripeClient("sk_test_123", url), "cus_1");
    const first = found?.items.data[0];
    expect(Object.keys(found ?? {})).toEqual(expect.arrayContaining(Object.keys(subscription())));
    expect(Object.keys(first ?? {})).toEqual(expect.arrayContaining(Object.keys(item())));
    expect(Object.keys(first?.price ?? {})).toEqual(expect.arrayContaining(Object.keys(price())));
  });

  test("gives an unknown account the free plan", async (context) => {
    needs(context, "stripe-mock");
    const { billing } = await billingOver({ url });
    expect((await billing.subscription(acme))._unsafeUnwrap()).toMatchObject({ plan: "free", provider: "stripe" });
  });
});
