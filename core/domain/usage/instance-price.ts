/** The price of the instances that a service keeps running. */
import { type Decimal, decimalText, parseDecimal, plus, roundDecimal, times } from "./decimal.ts";

/** A platform's prices of running instances. */
export interface InstancePrices {
  /** An ISO 4217 code. */
  readonly currency: string;
  /** The price of a vCPU-second. */
  readonly cpu: Decimal;
  /** The price of a GiB-second. */
  readonly memory: Decimal;
}

/** The price of instances that run all the time, as decimals. */
export interface RunningPrice {
  readonly currency: string;
  readonly per_hour: string;
  readonly per_month: string;
}

/** The hours of an average month: a twelfth of a year's 8760 hours. */
const HOURS_PER_MONTH = 730n;
const SECONDS_PER_HOUR = 3600n;
const HOUR_PLACES = 6;
const MONTH_PLACES = 2;

/** 1 / 2^30 is 5^30 / 10^30. */
const GIB_PER_BYTE: Decimal = { digits: 5n ** 30n, scale: 30 };

const whole = (digits: bigint): Decimal => ({ digits, scale: 0 });

/**
 * Returns the price of a service's minimum number of instances. Returns null if the minimum is 0 or the platform has no
 * prices.
 * @param size `memory` is in bytes
 */
export const priceOfMinimum = (
  prices: InstancePrices | undefined,
  { minInstances = 0, cpu, memory }: { readonly minInstances?: number; readonly cpu: number; readonly memory: number },
): RunningPrice | null => {
  const cores = parseDecimal(String(cpu));
  if (prices === undefined || minInstances === 0 || cores === undefined) return null;
  const gib = times(whole(BigInt(memory)), GIB_PER_BYTE);
  const perSecond = plus(times(prices.cpu, cores), times(prices.memory, gib));
  const perHour = times(perSecond, whole(BigInt(minInstances) * SECONDS_PER_HOUR));
  return {
    currency: prices.currency,
    per_hour: decimalText(roundDecimal(perHour, HOUR_PLACES)),
    per_month: decimalText(roundDecimal(times(perHour, whole(HOURS_PER_MONTH)), MONTH_PLACES), MONTH_PLACES),
  };
};

/** Returns a sentence about the price, or an empty list without a price. */
export const describePrice = (price: RunningPrice | null): string[] =>
  price === null
    ? []
    : [
        `The minimum number of instances costs ${price.per_hour} ${price.currency} per hour, or ${price.per_month} ${price.currency} per month of ${HOURS_PER_MONTH} hours`,
      ];
