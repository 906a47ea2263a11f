/** The price of a subscription. */
import { expect, test } from "vitest";
import { formatPrice } from "../../../../hosts/console/accounts/format-price.ts";

test.each([
  [1999, "USD", "USD 19.99"],
  [500, "JPY", "JPY 500"],
  [12_345, "KWD", "KWD 12.345"],
  [1999, "credits", "1999 credits"],
  [1999, "", "1999 "],
])("%i in the minor unit of %s is %s", (amount, currency, text) => {
  expect(formatPrice(amount, currency).replace("\u00a0", " ")).toBe(text);
});
