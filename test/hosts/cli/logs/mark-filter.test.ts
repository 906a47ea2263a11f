/** Marks the position of an error in a filter. */
import { expect, test } from "vitest";
import { markFilter } from "../../../../hosts/cli/logs/mark-filter.ts";

test.each([
  ["a) b", 2, ["  a) b", "   ^"]],
  ["a AND", 6, ["  a AND", "       ^"]],
  ["first\nsecond ) x\nthird", 14, ["  second ) x", "         ^"]],
  ["😀 )", 3, ["  😀 )", "    ^"]],
  ["a\u202eb\tc", 2, ["  a�b�c", "   ^"]],
  [`${"x".repeat(100)})${"y".repeat(100)}`, 101, [`  …${"x".repeat(40)})${"y".repeat(39)}`, `   ${" ".repeat(40)}^`]],
])("%.12j at %d", (filter, position, lines) => expect(markFilter(filter, position).split("\n")).toEqual(lines));

test("shows no mark for a position outside of the filter", () => {
  expect(markFilter("abc", 9)).toBe("");
  expect(markFilter("abc", 0)).toBe("");
});
