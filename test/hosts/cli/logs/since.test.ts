/** The values of `-s`: ages, dates, and times as the output shows them. Other values are usage errors. */
import { expect, test } from "vitest";
import { timeText } from "../../../../hosts/cli/logs/print.ts";
import { readSince } from "../../../../hosts/cli/logs/since.ts";
import { portside } from "../../../support/cli/terminal.ts";

const now = Date.UTC(2026, 0, 2);

test.each([
  ["30s", "2026-01-01T23:59:30.000Z"],
  ["30m", "2026-01-01T23:30:00.000Z"],
  ["24h", "2026-01-01T00:00:00.000Z"],
  ["7d", "2025-12-26T00:00:00.000Z"],
  ["1w", "2025-12-26T00:00:00.000Z"],
  ["1h30m", "2026-01-01T22:30:00.000Z"],
  ["1.5h", "2026-01-01T22:30:00.000Z"],
  ["500ms", "2026-01-01T23:59:59.500Z"],
  ["2026-01-01", "2026-01-01T00:00:00Z"],
  ["2026-01-01T09:00:00+01:00", "2026-01-01T09:00:00+01:00"],
  ["2026-01-01 09:00:00.123Z", "2026-01-01T09:00:00.123Z"],
  ["2026-01-01 09:00Z", "2026-01-01T09:00:00Z"],
])("%s is %s", (text, since) => expect(readSince(text, now)).toBe(since));

test.each([
  ["yesterday", "-s must be an age"],
  ["30", "-s must be an age"],
  ["", "-s must be an age"],
  ["-1h", "not '-1h'"],
  ["999999d", "-s 999999d is before 1970"],
  ["2026-01-01T09:00:00", "Add Z for UTC, or an offset"],
  ["2026-01-01 09:00", "Add Z for UTC, or an offset"],
  ["2026-02-30", "-s must be an age"],
])("'%s' is a usage error with a message", async (text, words) => {
  const { code, stderr, stdout } = await portside(["logs", "app", "-s", text], { env: { PORTSIDE_API_KEY: "psk_x" } });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(words);
});

test.each([
  ["2026-11-21T19:40:13+00:00", "2026-11-21 19:40:13.000Z"],
  ["2026-11-21T19:40:13.764+00:00", "2026-11-21 19:40:13.764Z"],
  ["2026-11-21T19:40:13.764999999+00:00", "2026-11-21 19:40:13.764Z"],
])("prints an entry's %s in a form that -s accepts", (timestamp, shown) => {
  expect(timeText(timestamp)).toBe(shown);
  expect(readSince(shown, now)).toBe(shown.replace(" ", "T"));
});
