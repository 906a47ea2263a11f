/** Months in UTC. */
import { expect, test } from "vitest";
import { dayOf, monthOf, parseMonth, periodOfDay } from "../../../../core/domain/usage/month.ts";
import { type Instant, parseInstant, timestampOf } from "../../../../core/domain/wire/instant.ts";

const shown = (text: string) => {
  const period = parseMonth(text);
  return period === undefined ? undefined : [timestampOf(period.from), timestampOf(period.to)];
};

test.each([
  ["2026-11", "2026-11-01T00:00:00+00:00", "2026-12-01T00:00:00+00:00"],
  ["2026-12", "2026-12-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"],
  ["2027-01", "2027-01-01T00:00:00+00:00", "2027-02-01T00:00:00+00:00"],
  ["0001-02", "0001-02-01T00:00:00+00:00", "0001-03-01T00:00:00+00:00"],
  ["9998-12", "9998-12-01T00:00:00+00:00", "9999-01-01T00:00:00+00:00"],
  ["2024-02", "2024-02-01T00:00:00+00:00", "2024-03-01T00:00:00+00:00"],
])("%s", (text, from, to) => expect(shown(text)).toEqual([from, to]));

test.each([
  "",
  "2026",
  "2026-13",
  "2026-00",
  "2026-1",
  "26-01",
  "0000-01",
  "9999-12",
  "2026-11-01",
  "12026-11",
  "２０２６-11",
])("rejects '%s'", (text) => expect(parseMonth(text)).toBeUndefined());

test("an instant's month and day do not depend on the local time zone", () => {
  const late = parseInstant("2026-11-30T23:59:59.999999999-00:00") as Instant;
  expect([monthOf(late), dayOf(late)]).toEqual(["2026-11", "2026-11-30"]);
  const { from, to } = periodOfDay("2026-11-30");
  expect([timestampOf(from), timestampOf(to)]).toEqual(["2026-11-30T00:00:00+00:00", "2026-12-01T00:00:00+00:00"]);
});
