/** The price of a subscription. */

/**
 * Formats an amount in the minor unit of its currency, such as cents.
 * @param currency ISO 4217
 */
export const formatPrice = (amount: number, currency: string): string => {
  const format = new Intl.NumberFormat("en", { style: "currency", currency, currencyDisplay: "code" });
  const { maximumFractionDigits: digits = 2 } = format.resolvedOptions();
  return format.format(amount / 10 ** digits);
};
