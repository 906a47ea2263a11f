/** The price of a subscription. */

/**
 * Formats an amount in the minor unit of its currency, such as cents. If the currency is not an ISO 4217 code, returns
 * both unchanged.
 */
export const formatPrice = (amount: number, currency: string): string => {
  if (!/^[a-z]{3}$/i.test(currency)) return `${amount} ${currency}`;
  const format = new Intl.NumberFormat("en", { style: "currency", currency, currencyDisplay: "code" });
  const { maximumFractionDigits: digits = 2 } = format.resolvedOptions();
  return format.format(amount / 10 ** digits);
};
