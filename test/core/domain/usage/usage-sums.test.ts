/** Sums of usage: the most expensive group first, and how many turns had no cost. */
import { expect, test } from "vitest";
import { decimalText, parseDecimal } from "../../../../core/domain/usage/decimal.ts";
import type { Usage } from "../../../../core/domain/usage/usage.ts";
import { type Group, UsageSums } from "../../../../core/domain/usage/usage-sums.ts";

const turn = (cost: string | null): Usage => ({
  model: null,
  user: null,
  chat: null,
  input: 3n,
  output: 2n,
  cached: 1n,
  cost: cost === null ? null : (parseDecimal(cost) ?? null),
});

const sumsOf = (...lines: readonly (readonly [Group, string | null])[]): UsageSums => {
  const sums = new UsageSums();
  for (const [group, cost] of lines) sums.add(group, turn(cost));
  return sums;
};

const order = (sums: UsageSums): Group[] => sums.groups().map(([group]) => group);

test("the most expensive group is first", () => {
  expect(order(sumsOf(["ann", "0.5"], ["ben", "0.9"], ["ann", "0.50"]))).toEqual(["ann", "ben"]);
});

test("groups of equal cost are sorted by name, the unnamed one last", () => {
  expect(order(sumsOf(["cy", "1"], [null, "1"], ["ann", "1.0"], ["ben", "1"]))).toEqual(["ann", "ben", "cy", null]);
  expect(order(sumsOf([null, null], ["ann", null]))).toEqual(["ann", null]);
  expect(order(sumsOf(["ann", null], [null, null]))).toEqual(["ann", null]);
});

test("a turn without a cost counts with its tokens and as unpriced", () => {
  const sums = sumsOf(["ann", "0.25"], ["ann", null], ["ben", null]);
  expect(decimalText(sums.total.cost)).toBe("0.25");
  expect(sums.total).toMatchObject({ turns: 3, unpriced: 2, input: 9n, output: 6n, cached: 3n });
  expect(new Map(sums.groups()).get("ann")).toMatchObject({ turns: 2, unpriced: 1 });
});

test("no lines give zero", () => {
  expect(new UsageSums().total).toMatchObject({ turns: 0, unpriced: 0, input: 0n });
  expect(new UsageSums().groups()).toEqual([]);
});
