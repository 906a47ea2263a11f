/** The maximum size of one page of a log. */
import { expect, test } from "vitest";
import type { LogEntry } from "../../../../core/domain/logs/entry.ts";
import { fitting, pageRoom } from "../../../../core/domain/logs/page-size.ts";

const MiB = 1024 * 1024;

test("a page has at most eight mebibytes of messages, and at least one entry", () => {
  const hasRoom = pageRoom();
  expect([4 * MiB, 3 * MiB, 2 * MiB].map(hasRoom)).toEqual([true, true, false]);
  const forOne = pageRoom();
  expect([20 * MiB, 0].map(forOne)).toEqual([true, false]);
  const empty = pageRoom();
  expect([0, 9 * MiB].map(empty)).toEqual([true, false]);
});

test("a page has the first entries that fit", () => {
  const text = "x".repeat(3 * MiB);
  const entries = Array.from({ length: 4 }, () => ({ text })) as unknown as LogEntry[];
  expect(fitting(entries)).toHaveLength(2);
  expect(fitting(entries.slice(0, 2))).toHaveLength(2);
  expect(fitting([])).toEqual([]);
});
