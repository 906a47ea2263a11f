/** Log entries as clients read them, and cursors by example. */
import { describe, expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { building, failed } from "../../../../core/domain/deploy/events.ts";
import { cursorOf, ordinalCode } from "../../../../core/domain/logs/cursor.ts";
import {
  deployEntry,
  type LogEntry,
  logPageSchema,
  messageOf,
  severities,
  severityNames,
} from "../../../../core/domain/logs/entry.ts";
import { recordOf } from "../../../../core/domain/logs/filter/record.ts";
import { logPageOf } from "../../../../core/domain/logs/page.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";

const [owner, service] = ["acme", "app"] as [AccountId, DeploymentName];
const at = (nanos: bigint) => (1_767_225_600_000_000_000n + nanos) as Instant;
const line = (text: string, nanos: bigint, ordinal = 0): LogEntry => ({
  owner,
  service,
  severity: "INFO",
  logName: "stdout",
  text,
  instant: at(nanos),
  code: ordinalCode(ordinal),
});

describe("messages", () => {
  test("a line is its text", () => expect(messageOf(line("hello", 0n))).toBe("hello"));

  test("a structured entry is compact JSON", () => {
    const { text: _text, ...entry } = line("", 0n);
    expect(messageOf({ ...entry, json: { level: "info", n: [1, 2] } })).toBe('{"level":"info","n":[1,2]}');
    expect(messageOf(entry)).toBe("{}");
  });

  test("a request is compact JSON", () => {
    const { text: _text, ...entry } = line("", 0n);
    const http = { requestMethod: "GET", requestUrl: "/", status: 200, latency: "0.01s" };
    expect(JSON.parse(messageOf({ ...entry, http }))).toEqual({ httpRequest: http });
  });
});

describe("a deploy in the deployment's own log", () => {
  test("a failure is an error with its reason", () => {
    const news = failed({ reason: "crashed", message: "It crashed", exitCode: 3 });
    expect(deployEntry(owner, service, "d1", news)).toEqual({
      owner,
      service,
      severity: "ERROR",
      logName: "platform",
      json: {
        event: "deploy",
        message: "It crashed",
        deploy_id: "d1",
        status: "ERROR",
        reason: "crashed",
        exit_code: 3,
      },
    });
  });

  test("every other record is INFO", () =>
    expect(deployEntry(owner, service, "d1", building("began"))).toMatchObject({ severity: "INFO" }));
});

test("a page is oldest first, and its cursor is the last position read", () => {
  const seen = line("b", 5n, 7);
  const page = logPageOf({ entries: [line("a", 0n), seen], cursor: seen, partial: true });
  expect(logPageSchema.parse(page)).toEqual({ logs: page.logs, cursor: page.cursor });
  expect(page.logs.map(({ timestamp, message }) => [timestamp, message])).toEqual([
    ["2026-01-01T00:00:00+00:00", "a"],
    ["2026-01-01T00:00:00.000000005+00:00", "b"],
  ]);
  expect(page).toMatchObject({ cursor: cursorOf(seen), partial: true });
});

test("a row has the log, the revision and the instance of the entry, and the id that filters compare", () => {
  const [whole, fine] = [line("a", 0n), line("b", 5n, 7)];
  const from = { ...fine, logName: "stderr", revision: "app-00001", instance: "i1" } as const;
  const page = logPageOf({ entries: [whole, from], cursor: fine, partial: false });
  expect(JSON.parse(JSON.stringify(page.logs))).toEqual([
    {
      timestamp: "2026-01-01T00:00:00+00:00",
      severity: "INFO",
      message: "a",
      log_name: "stdout",
      insert_id: "2026-01-01T00:00:00.000000000-0000000000",
    },
    {
      timestamp: "2026-01-01T00:00:00.000000005+00:00",
      severity: "INFO",
      message: "b",
      log_name: "stderr",
      insert_id: "2026-01-01T00:00:00.000000005-0000000007",
      revision: "app-00001",
      instance_id: "i1",
    },
  ]);
  expect(page.logs.map((row) => row.insert_id)).toEqual([whole, from].map((entry) => recordOf(entry).insertId));
});

test("a full row has the whole entry, with the field names of filters", () => {
  const entry = { ...line("a", 0n), revision: "app-00001" };
  const page = logPageOf({ entries: [entry], cursor: entry, partial: false }, { isFull: true });
  expect(page.logs[0]?.entry).toEqual(recordOf(entry));
  expect(page.logs[0]?.entry).toMatchObject({ resource: { labels: { revision_name: "app-00001" } } });
});

test("severities rank in the contract's order", () => {
  expect(severityNames).toEqual([
    "DEFAULT",
    "DEBUG",
    "INFO",
    "NOTICE",
    "WARNING",
    "ERROR",
    "CRITICAL",
    "ALERT",
    "EMERGENCY",
  ]);
  expect(Object.values(severities)).toEqual([...Object.values(severities)].sort((a, b) => a - b));
});
