/** The months of the cost page. */
import { expect, test } from "vitest";
import { costMonthOf, formatMonth } from "../../../../hosts/console/usage/cost-month.ts";

const NOW = Date.parse("2026-01-31T23:59:59Z");

test("a month spans the time between two starts of months in UTC", () => {
  expect(costMonthOf("2025-12", NOW)).toMatchObject({
    month: "2025-12",
    previous: "2025-11",
    next: "2026-01",
    since: "2025-12-01T00:00:00+00:00",
    until: "2026-01-01T00:00:00+00:00",
  });
});

test("the current month has no next month", () => {
  expect(costMonthOf("2026-01", NOW)).toMatchObject({ month: "2026-01", previous: "2025-12", next: undefined });
});

test.each(["", "2026-02", "2026-13", "soon"])("uses the current month for '%s'", (wanted) => {
  expect(costMonthOf(wanted, NOW).month).toBe("2026-01");
});

test("lists twelve months, and an older one that the URL names", () => {
  const { listed } = costMonthOf("", NOW);
  expect([listed.length, listed[0], listed.at(-1)]).toEqual([12, "2026-01", "2025-02"]);
  expect(costMonthOf("2024-06", NOW).listed.at(-1)).toBe("2024-06");
});

test("names a month in words", () => {
  expect(formatMonth("2026-11")).toBe("November 2026");
});
