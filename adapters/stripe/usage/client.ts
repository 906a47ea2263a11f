/** Stripe's own client, made of a secret key. The package is loaded where it is used, and need not be installed. */
import type Stripe from "stripe";
import { needPackages } from "../../shared/runtime/optional-package.ts";

/** A person waits for the answer. */
const TIMEOUT_MS = 10_000;

const addressOf = (url: string | undefined) => {
  if (url === undefined) return {};
  const { protocol, hostname, port } = new URL(url);
  const scheme = protocol === "http:" ? "http" : "https";
  return { host: hostname, port: port || (scheme === "http" ? 80 : 443), protocol: scheme } as const;
};

/** @param url where Stripe is, for tests. Throws where the package is not installed. */
export const createStripeClient = async (key: string, url?: string): Promise<Stripe> => {
  const { default: StripeClient } = await needPackages("Billing by Stripe", ["stripe"], () => import("stripe"));
  return new StripeClient(key, { ...addressOf(url), timeout: TIMEOUT_MS, maxNetworkRetries: 1, telemetry: false });
};
