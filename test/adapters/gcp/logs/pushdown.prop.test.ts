/** Pushing a filter down and then filtering finds the same entries as filtering alone, by an independent evaluator. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { logEntryOf, protoEntryOf } from "../../../../adapters/gcp/logs/entry.ts";
import { pushdownOf } from "../../../../adapters/gcp/logs/pushdown.ts";
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { matcherOf } from "../../../../core/domain/logs/filter/match.ts";
import { parseLogFilter } from "../../../../core/domain/logs/filter/parse.ts";
import { printLogFilter } from "../../../../core/domain/logs/filter/print.ts";
import type { LogFilter } from "../../../../core/domain/logs/filter/tree.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { logFilter, logInstant, newLogEntry } from "../../../arbitraries/index.ts";
import { type Message, messages } from "../../../fakes/gcp/grpc.ts";
import { keptOf } from "../../../fakes/gcp/logging/entries.ts";
import { filterOf } from "../../../fakes/gcp/logging/filter.ts";
import { messageOfLine } from "../../../fakes/gcp/logging/ingest.ts";
import { runs } from "../../../support/vitest/runs.ts";

const place = { project: "test-project", region: "europe-west1" };
const scope = { owner: "acme" as AccountId, service: "app" as DeploymentName };
const dialect = { project: place.project, scope, compile: compileRe2 };

const wire = messages("@google-cloud/logging-api");
const received = (entry: object): Message => wire.received("google.logging.v2.LogEntry", entry);

const kept = (message: Message) => {
  const now = BigInt(message.timestamp?.seconds ?? 1_767_225_600) * 1_000_000_000n;
  const one = keptOf(message, now, 0n, () => "x");
  if (one === undefined) throw new Error("the entry was not kept");
  return { json: one.json, entry: logEntryOf(scope, one.message) };
};

const written = () =>
  fc
    .tuple(newLogEntry(), logInstant(), fc.constantFrom("a", "b0", "zz9"))
    .map(([entry, instant, insertId]) => kept(received(protoEntryOf(place, entry, { instant, insertId }))));

const lines = fc.constantFrom(
  "a timeout",
  '{"level":"error","user":"ann"}',
  '{"level":50,"list":["timeout",30]}',
  '{"severity":"warning","message":"straße"}',
  '{"level":"usage","cost":0.5}',
  "",
);

/**
 * Entries that Cloud Run creates from a service's lines. Their severity is DEFAULT where the platform reads a level
 * from the line.
 */
const ingested = () =>
  fc.tuple(lines, fc.constantFrom("stdout" as const, "stderr" as const)).map(([line, stream]) => {
    const message = messageOfLine(place, {
      service: "app",
      revision: "app-00001",
      instance: "i1",
      labels: {},
      stream,
      line,
    });
    return kept({ ...message, timestamp: { seconds: "1767225600", nanos: 0 } });
  });

const isPushed = (filter: LogFilter, json: ReturnType<typeof kept>["json"]): boolean => {
  const pushed = pushdownOf(filter, dialect);
  return typeof pushed === "boolean" ? pushed : filterOf(printLogFilter(pushed)).passes(json);
};

test("loses no match among the platform's entries and service lines", () =>
  fc.assert(
    fc.property(fc.oneof(written(), ingested()), logFilter(), ({ entry, json }, filter) => {
      if (entry === undefined) throw new Error("the entry belongs to another deployment");
      if (matcherOf(filter, compileRe2)(entry)) expect(isPushed(filter, json), printLogFilter(filter)).toBe(true);
    }),
    runs(3000),
  ));

test("pushes down conditions that mean the same in Cloud Logging", () => {
  const texts: Readonly<Record<string, string | boolean>> = {
    "severity>=ERROR":
      'severity="ERROR" OR severity="CRITICAL" OR severity="ALERT" OR severity="EMERGENCY" OR severity="DEFAULT"',
    'textPayload:"timeout"': 'textPayload:"timeout"',
    'NOT textPayload:"timeout"': 'NOT textPayload:"timeout"',
    "NOT textPayload:straße": true,
    'jsonPayload.user="ann"': 'jsonPayload.user="ann"',
    "jsonPayload.user.id=ann": true,
    'jsonPayload.message:"boom"': '"boom"',
    boom: '"boom"',
    "NOT boom": true,
    "30": true,
    "httpRequest.status>=500": 'httpRequest.status>="500"',
    "httpRequest.status<500": true,
    "resource.type=cloud_run_revision": true,
    "resource.labels.service_name=other": false,
    'log_id("stderr") AND boom': 'logName="projects/test-project/logs/run.googleapis.com%2Fstderr" AND "boom"',
    "boom OR insertId=x": true,
    "insertId=x": true,
    'timestamp>"2026-01-31T09:00:00Z"': 'timestamp>"2026-01-31T09:00:00+00:00"',
  };
  for (const [text, wanted] of Object.entries(texts)) {
    const pushed = pushdownOf(parseLogFilter(text, compileRe2)._unsafeUnwrap(), dialect);
    expect(typeof pushed === "boolean" ? pushed : printLogFilter(pushed), text).toBe(wanted);
  }
});

test("reads an entry back unchanged, as far as Cloud Logging can store it", () =>
  fc.assert(
    fc.property(newLogEntry(), (entry) => {
      const { text, json, http, ...rest } = entry;
      const read = logEntryOf(
        scope,
        received(protoEntryOf(place, entry, { instant: 1_767_225_600_000_000_001n as Instant, insertId: "a" })),
      );
      expect(read).toMatchObject({ ...rest, instant: 1_767_225_600_000_000_001n, code: "097" });
      expect(read?.text).toBe(text);
      expect(read?.json).toEqual(text === undefined ? json : undefined);
      expect(read?.http?.status).toBe(http?.status);
    }),
  ));
