/** Sums of usage. Exact for any number and order of lines. */
import { compareDecimals, type Decimal, plus, zero } from "./decimal.ts";
import type { Usage } from "./usage.ts";

export interface UsageSum {
  readonly turns: number;
  readonly input: bigint;
  readonly output: bigint;
  readonly cached: bigint;
  readonly cost: Decimal;
  /** The number of turns whose cost is unknown. */
  readonly unpriced: number;
}

export const noUsage: UsageSum = { turns: 0, input: 0n, output: 0n, cached: 0n, cost: zero, unpriced: 0 };

export const addUsage = (sum: UsageSum, { input, output, cached, cost }: Usage): UsageSum => ({
  turns: sum.turns + 1,
  input: sum.input + input,
  output: sum.output + output,
  cached: sum.cached + cached,
  cost: cost === null ? sum.cost : plus(sum.cost, cost),
  unpriced: sum.unpriced + (cost === null ? 1 : 0),
});

export const usageKeys = ["user", "chat", "model"] as const;

/** The group of a sum, such as a user; null for lines that name no group. */
export type Group = string | null;

/** Sums by group, and the total. */
export class UsageSums {
  readonly #groups = new Map<Group, UsageSum>();
  #total = noUsage;

  get total(): UsageSum {
    return this.#total;
  }

  add(group: Group, usage: Usage): void {
    this.#total = addUsage(this.#total, usage);
    this.#groups.set(group, addUsage(this.#groups.get(group) ?? noUsage, usage));
  }

  /** Returns the groups by descending cost. Sorts groups of equal cost by name, with the unnamed group last. */
  groups(): (readonly [Group, UsageSum])[] {
    return [...this.#groups].sort(
      ([a, one], [b, other]) =>
        compareDecimals(other.cost, one.cost) || (a === null ? 1 : b === null ? -1 : a < b ? -1 : 1),
    );
  }
}
