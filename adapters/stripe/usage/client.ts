/** Creates Stripe's client from a secret key. Loads the optional peer dependency `stripe` on first use. */
import type Stripe from "stripe";
import { needPackages } from "../../shared/runtime/optional-package.ts";

/** A short timeout, because a user waits for the response. */
const TIMEOUT_MS = 10_000;

const addressOf = (url: string | undefined) => {
  if (url === undefined) return {};
  const { protocol, hostname, port } = new URL(url);
  const scheme = protocol === "http:" ? "http" : "https";
  return { host: hostname, port: port || (scheme === "http" ? 80 : 443), protocol: scheme } as const;
};

/**
 * Creates a Stripe client. Throws if the package is not installed.
 *
 * @param key a secret key with read access to customers, subscriptions and products
 * @param url the base URL of Stripe, for tests
 */
export const createStripeClient = async (key: string, url?: string): Promise<Stripe> => {
  const { default: StripeClient } = await needPackages("Billing by Stripe", ["stripe"], () => import("stripe"));
  return new StripeClient(key, { ...addressOf(url), timeout: TIMEOUT_MS, maxNetworkRetries: 1, telemetry: false });
};
