/** The prices of infrastructure, from the built-in list or the operator's list. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { type Decimal, parseDecimal } from "../../../core/domain/usage/decimal.ts";
import type { InstancePrices } from "../../../core/domain/usage/instance-price.ts";
import { type Sku, skus } from "./skus.ts";

export interface Prices {
  readonly currency: string;
  readonly of: Readonly<Record<Sku, Decimal>>;
}

const price = z.string().refine((text) => (parseDecimal(text)?.digits ?? -1n) >= 0n, {
  error: 'must be a price as text, such as "0.000018"',
});

const listSchema = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/, { error: "must be an ISO 4217 code such as USD" }),
  /** The origin of the prices. */
  source: z.string().optional(),
  /** The date of the prices. */
  date: z.iso.date().optional(),
  prices: z.strictObject({ cpu: price, memory: price, requests: price }),
});

export type PriceList = z.output<typeof listSchema>;

/**
 * The prices of Cloud Run with instance-based billing in Tier 1 regions, per vCPU-second, GiB-second and request,
 * without the free tier. Like Portside, Cloud Run charges for instances from start to exit, and not for requests.
 * Programs cannot read the pricing page, so the prices are from several copies of it. On the date below, all copies
 * showed the same prices.
 */
export const builtInPrices: PriceList = {
  currency: "USD",
  source: "https://cloud.google.com/run/pricing",
  date: "2026-11-21",
  prices: { cpu: "0.000018", memory: "0.000002", requests: "0" },
};

const pricesOf = ({ currency, prices }: PriceList): Prices => {
  const of = Object.fromEntries(skus.map((sku) => [sku, parseDecimal(prices[sku])])) as Record<Sku, Decimal>;
  return { currency, of };
};

const NEXT_STEP = "Correct the file or its path, or omit --price-list to use the built-in prices.";

const readList = (path: string): PriceList => {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new Error(`The price list ${path} cannot be read: ${(cause as Error).message}. ${NEXT_STEP}`, { cause });
  }
  const parsed = listSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path: at, message }) => `${at.join(".") || "the list"}: ${message}`);
  throw new Error(`The price list ${path} is invalid: ${problems.join("; ")}. ${NEXT_STEP}`);
};

/**
 * Returns the prices in the file, or the built-in prices if `path` is undefined. Throws an error for the operator if
 * the file is invalid.
 */
export const loadPrices = (path: string | undefined): Prices =>
  pricesOf(path === undefined ? builtInPrices : readList(path));

/**
 * Returns the operator's prices, for the plan of a deploy. Returns undefined if the operator has set no list, because
 * the built-in list contains the prices of a different platform.
 */
export const instancePricesOf = (path: string | undefined): InstancePrices | undefined => {
  if (path === undefined) return undefined;
  const { currency, of } = loadPrices(path);
  return { currency, cpu: of.cpu, memory: of.memory };
};
