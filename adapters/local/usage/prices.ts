/** What infrastructure costs: the shipped list, or one of the operator's own. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { type Decimal, parseDecimal } from "../../../core/domain/usage/decimal.ts";
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
  /** Where the prices come from, and when they were looked up. */
  source: z.string().optional(),
  date: z.iso.date().optional(),
  prices: z.strictObject({ cpu: price, memory: price, requests: price }),
});

export type PriceList = z.output<typeof listSchema>;

/**
 * Cloud Run, instance-based billing, Tier 1 regions, without the free tier: there, too, instances are charged from
 * their start to their end, and requests are not. A vCPU-second, a GiB-second, a request. The date is when they were
 * looked up, in copies of the page and in reports of it that agree; the page itself is not to be read by a program.
 */
export const shippedPrices: PriceList = {
  currency: "USD",
  source: "https://cloud.google.com/run/pricing",
  date: "2026-11-21",
  prices: { cpu: "0.000018", memory: "0.000002", requests: "0" },
};

const pricesOf = ({ currency, prices }: PriceList): Prices => {
  const of = Object.fromEntries(skus.map((sku) => [sku, parseDecimal(prices[sku])])) as Record<Sku, Decimal>;
  return { currency, of };
};

const readList = (path: string): PriceList => {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new Error(`The price list ${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
  const parsed = listSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const words = parsed.error.issues.map(({ path: at, message }) => `${at.join(".") || "it"}: ${message}`);
  throw new Error(`The price list ${path} cannot be used: ${words.join("; ")}`);
};

/** Throws in words where the file cannot be used; without a file, the shipped list. */
export const loadPrices = (path: string | undefined): Prices =>
  pricesOf(path === undefined ? shippedPrices : readList(path));
