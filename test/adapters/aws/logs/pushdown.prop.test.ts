/** Pushing part of a filter down finds the same entries as filtering all of them. */
import type { FilteredLogEvent } from "@aws-sdk/client-cloudwatch-logs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { logEntryOf, messageFor } from "../../../../adapters/aws/logs/entry.ts";
import { type Pushdown, pushdownOf } from "../../../../adapters/aws/logs/pushdown.ts";
import { streamPrefixOf } from "../../../../adapters/aws/logs/streams.ts";
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { matcherOf } from "../../../../core/domain/logs/filter/match.ts";
import { parseLogFilter } from "../../../../core/domain/logs/filter/parse.ts";
import { printLogFilter } from "../../../../core/domain/logs/filter/print.ts";
import { type Instant, millisOf, parseInstant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { logFilter, logInstant, newLogEntry } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const scope = { owner: "acme" as AccountId, service: "app" as DeploymentName };
const prefix = streamPrefixOf(scope.owner, scope.service);

const written = () =>
  fc.tuple(newLogEntry(), logInstant()).map(
    ([entry, at]): FilteredLogEvent => ({
      logStreamName: `${prefix}platform`,
      eventId: "1",
      timestamp: millisOf(at),
      message: messageFor(entry, at, "id"),
    }),
  );

const lines = fc.constantFrom(
  ...["a timeout", '{"level":"error","user":"ann"}', '{"level":50,"list":["timeout",30]}', "stdout"],
  ...['{"severity":"warning","message":"straße"}', '{"level":"usage","cost":0.5}', '{"httpRequest":{"status":404}}'],
);

const ingested = () =>
  fc.tuple(lines, logInstant()).map(
    ([message, at]): FilteredLogEvent => ({
      logStreamName: `${prefix}app-00001/app/i1`,
      eventId: "2",
      timestamp: millisOf(at),
      message,
    }),
  );

/** Applies the pushed part as FilterLogEvents does. */
const isAsked = ({ from, to, platformOnly }: Pushdown, { logStreamName, timestamp = 0 }: FilteredLogEvent): boolean =>
  (from === undefined || timestamp >= millisOf(from)) &&
  (to === undefined || timestamp <= millisOf(to)) &&
  (!platformOnly || logStreamName === `${prefix}platform`);

test("loses no match among the platform's entries and service lines", () =>
  fc.assert(
    fc.property(fc.oneof(written(), ingested()), logFilter(), (event, filter) => {
      const entry = logEntryOf(scope, event);
      if (entry === undefined) throw new Error("the event belongs to another deployment");
      if (matcherOf(filter, compileRe2)(entry))
        expect(isAsked(pushdownOf(filter, scope, compileRe2), event), printLogFilter(filter)).toBe(true);
    }),
    runs(3000),
  ));

test("pushes down times and the platform's own entries", () => {
  const at = (text: string) => parseInstant(text) as Instant;
  const [from, to] = [at("2026-01-31T09:00:00Z"), at("2026-01-31T10:00:00Z")];
  const texts: Readonly<Record<string, Pushdown>> = {
    timeout: { platformOnly: false },
    "logName=platform": { platformOnly: true },
    'log_id("stdout")': { platformOnly: false },
    "NOT logName=stdout": { platformOnly: true },
    "logName=platform OR timeout": { platformOnly: false },
    "logName=platform AND timeout": { platformOnly: true },
    "httpRequest.status>=500": { platformOnly: true },
    "httpRequest.status<500": { platformOnly: false },
    'timestamp>="2026-01-31T09:00:00Z"': { from, platformOnly: false },
    'timestamp>="2026-01-31T09:00:00Z" AND timestamp<"2026-01-31T10:00:00Z"': { from, to, platformOnly: false },
    '(timestamp>="2026-01-31T09:00:00Z" OR timestamp>="2026-01-31T10:00:00Z") AND x': { from, platformOnly: false },
    'NOT timestamp>="2026-01-31T09:00:00Z"': { platformOnly: false },
    'timestamp!="2026-01-31T09:00:00Z"': { platformOnly: false },
  };
  for (const [text, wanted] of Object.entries(texts))
    expect(pushdownOf(parseLogFilter(text, compileRe2)._unsafeUnwrap(), scope, compileRe2), text).toEqual(wanted);
});

test("reads an entry back unchanged", () =>
  fc.assert(
    fc.property(newLogEntry(), (entry) => {
      const at = 1_767_225_600_000_000_001n as Instant;
      const event = { logStreamName: `${prefix}platform`, message: messageFor(entry, at, "a"), eventId: "9" };
      expect(logEntryOf(scope, event)).toEqual({ ...entry, instant: at, code: "097" });
    }),
  ));
