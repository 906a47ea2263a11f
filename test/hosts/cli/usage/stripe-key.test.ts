/** `serve` with a Stripe key: Stripe provides the subscriptions, and no output contains the key. */
import { expect, test } from "vitest";
import { buildPlatform } from "../../../../hosts/composition/build-platform.ts";
import { resolveSettings } from "../../../../hosts/composition/settings.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { startStripe } from "../../../support/usage/stripe-server.ts";

const KEY = "sk_live_hunter2hunter2";

test("makes Stripe the billing provider", async () => {
  await using stripe = await startStripe();
  stripe.add("acme", {});
  const env = { PORTSIDE_PROVIDER: "memory", PORTSIDE_STRIPE_KEY: KEY, PORTSIDE_STRIPE_URL: stripe.url };
  using folder = folderWith();
  const platform = await buildPlatform(resolveSettings({ dataDir: folder.path, logLevel: "silent" }, env));
  const principal = (account: string) => ({ account, credentialId: "test" }) as never;
  const told = await platform.controlPlane.getSubscription(principal("acme"));
  expect(told._unsafeUnwrap()).toMatchObject({ plan: "pro", provider: "stripe", amount: 2900 });
  await platform.close();
});

test("neither the error of another setting nor the help shows the key", async () => {
  using folder = folderWith();
  const env = { PORTSIDE_DATA_DIR: folder.path, PORTSIDE_STRIPE_KEY: KEY, PORTSIDE_STRIPE_URL: `${KEY} is not a URL` };
  for (const args of [["serve"], ["serve", "--help"], ["serve", "--debug"]]) {
    const { stdout, stderr } = await portside(args, { env });
    expect(stdout + stderr).not.toContain("hunter2");
    expect(stdout + stderr).toMatch(/stripe-url|STRIPE_URL/i);
  }
});
