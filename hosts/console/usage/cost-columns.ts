/**
 * The amounts of a cost report: one column for each currency, because amounts in different currencies cannot be added.
 */
import {
  compareDecimals,
  type Decimal,
  formatAmount,
  parseDecimal,
  shareOf,
  zero,
} from "../../../core/domain/usage/decimal.ts";

interface Amount {
  readonly currency: string;
  readonly cost: string;
}

/** A sum in the report: the total, or the sum of one group. */
export interface CostSum {
  readonly cost: string;
  readonly infrastructure: readonly Amount[] | null;
}

export interface CostColumn {
  readonly label: string;
  readonly amountOf: (sum: CostSum) => Decimal;
}

const decimalOf = (text: string | undefined): Decimal => parseDecimal(text ?? "0") ?? zero;

/** Returns the column of the models, and one column for each currency of the provider's charges. */
export const costColumns = (total: CostSum): readonly CostColumn[] => [
  { label: "Models, USD", amountOf: ({ cost }) => decimalOf(cost) },
  ...(total.infrastructure ?? []).map(({ currency }) => ({
    label: `Platform, ${currency}`,
    amountOf: ({ infrastructure }: CostSum) =>
      decimalOf(infrastructure?.find((amount) => amount.currency === currency)?.cost),
  })),
];

export interface CostBar<G> {
  readonly group: G;
  readonly amount: string;
  /** The share of the largest group, from 0 to 1. */
  readonly share: number;
}

/** Returns the bars of a column's chart; empty if no group has an amount. */
export const costBars = <G extends CostSum>(column: CostColumn, groups: readonly G[]): readonly CostBar<G>[] => {
  const amounts = groups.map((group) => ({ group, amount: column.amountOf(group) }));
  const max = amounts.reduce((most, { amount }) => (compareDecimals(amount, most) > 0 ? amount : most), zero);
  if (compareDecimals(max, zero) === 0) return [];
  return amounts.map(({ group, amount }) => ({
    group,
    amount: formatAmount(amount),
    share: Math.max(0, shareOf(amount, max)),
  }));
};
