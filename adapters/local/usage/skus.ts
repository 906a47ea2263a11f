/**
 * The metered SKUs. Usage is counted in integer units, called grains, whose sums are exact. The sums fit SQLite's
 * range: a day of a thousand instances with 32 GiB is 3 × 10^18 grains.
 */
import { type Decimal, parseDecimal, times } from "../../../core/domain/usage/decimal.ts";

export const skus = ["cpu", "memory", "requests"] as const;
export type Sku = (typeof skus)[number];

/** The description, the unit of the price, and the size of a grain in that unit. */
export const skuFacts: Readonly<Record<Sku, { description: string; unit: string; grain: Decimal }>> = {
  cpu: { description: "CPU allocated to instances", unit: "vCPU-second", grain: { digits: 1n, scale: 3 } },
  // A KiB-millisecond; 1 / 2^20 is 5^20 / 10^20.
  memory: { description: "Memory allocated to instances", unit: "GiB-second", grain: { digits: 5n ** 20n, scale: 23 } },
  requests: { description: "Requests", unit: "request", grain: { digits: 1n, scale: 0 } },
};

export const amountOf = (sku: Sku, grains: bigint): Decimal => times({ digits: grains, scale: 0 }, skuFacts[sku].grain);

/** Parses a decimal of the billing file. Throws if the text is not a decimal. */
export const parseStoredDecimal = (text: string): Decimal => {
  const value = parseDecimal(text);
  if (value === undefined) throw new Error(`The billing file contains '${text}' instead of a decimal.`);
  return value;
};
