/** The columns and charts of a cost report. */
import { expect, test } from "vitest";
import { formatAmount } from "../../../../core/domain/usage/decimal.ts";
import { costBars, costColumns } from "../../../../hosts/console/usage/cost-columns.ts";

const total = {
  cost: "0.3",
  infrastructure: [
    { currency: "EUR", cost: "2" },
    { currency: "USD", cost: "5" },
  ],
};

test("has a column for the models and for each currency, and never adds columns up", () => {
  const columns = costColumns(total);
  expect(columns.map((column) => [column.label, formatAmount(column.amountOf(total))])).toEqual([
    ["Models, USD", "0.30"],
    ["Platform, EUR", "2.00"],
    ["Platform, USD", "5.00"],
  ]);
});

test("a platform that reports no charges has only the column of the models", () => {
  expect(costColumns({ cost: "1", infrastructure: null }).map(({ label }) => label)).toEqual(["Models, USD"]);
});

test("bars are relative to the largest group, and a small amount is visible", () => {
  const [models] = costColumns(total);
  const groups = ["2", "0.5", "0.00000001", "0"].map((cost) => ({ cost, infrastructure: null }));
  const bars = costBars(models as NonNullable<typeof models>, groups);
  expect(bars.map(({ share, amount }) => [share, amount])).toEqual([
    [1, "2.00"],
    [0.25, "0.50"],
    [0.0001, "<0.0001"],
    [0, "0.00"],
  ]);
});

test("a column without amounts has no chart", () => {
  const [models] = costColumns(total);
  expect(costBars(models as NonNullable<typeof models>, [{ cost: "0", infrastructure: null }])).toEqual([]);
});
