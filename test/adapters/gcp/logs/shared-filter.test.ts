/** The filter that reads many logs with one call. */
import { expect, test } from "vitest";
import type { LogToRead } from "../../../../adapters/cloud/logs/followers.ts";
import { FILTER_CHARS, sharedFilter } from "../../../../adapters/gcp/logs/shared-filter.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { behind } from "../../../../core/domain/logs/cursor.ts";
import type { LogFilter } from "../../../../core/domain/logs/filter/tree.ts";
import { type Instant, parseInstant, plusMillis } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { logQuery } from "../../../clouds/logs.ts";
import { PROJECT, REGION } from "../../../fakes/gcp/test-project.ts";

const place = { project: PROJECT, region: REGION };
const start = parseInstant("2026-01-01T00:00:00.123456789Z") as Instant;

const logOf = (service: string, filter: LogFilter = logQuery().filter, owner = "acme", from = start): LogToRead => ({
  scope: { owner: owner as AccountId, service: service as DeploymentName },
  filter,
  through: behind(from),
});

const read = (logs: readonly LogToRead[]) => sharedFilter(place, logs, plusMillis(start, 5000));
const count = (text: string | undefined, part: string): number => (text ?? "").split(part).length - 1;

test("at least 120 logs of as many accounts fit, with the longest names", () => {
  const logs = Array.from({ length: 1000 }, (_, n) =>
    logOf(`${n}`.padStart(49, "s"), logQuery().filter, `account ${n}`),
  );
  const { read: fitting, filter } = read(logs);
  expect(fitting.length).toBeGreaterThanOrEqual(120);
  expect(fitting).toEqual(logs.slice(0, fitting.length));
  expect(filter?.length).toBeLessThanOrEqual(FILTER_CHARS);
  expect(filter?.length).toBeGreaterThan(FILTER_CHARS - 2000);
});

test("names an account and a service once, and each time bound only if it differs", () => {
  const later = plusMillis(start, 1000);
  const errors = logQuery("severity=ERROR").filter;
  const { filter } = read([logOf("a", errors), logOf("b"), logOf("b", errors), logOf("c", errors, "acme", later)]);
  expect(count(filter, "portside-owner")).toBe(1);
  expect(count(filter, 'service_name="b"')).toBe(1);
  expect(count(filter, "timestamp")).toBe(3);
  // A client that follows all of `b` makes the condition of the other client redundant.
  expect(count(filter, 'severity="ERROR"')).toBe(2);
});

test("a long condition is not sent, and one that no entry matches needs no call", () => {
  const long = logQuery(`textPayload:"${"x".repeat(1000)}"`).filter;
  expect(read([logOf("a", long)]).filter).not.toContain("xxx");
  const logs = [logOf("a", logQuery("resource.labels.service_name=other").filter)];
  expect(read(logs)).toEqual({ read: logs });
});
