/** The meaning of filters, following the examples of the query language's reference. */
import { describe, expect, test } from "vitest";
import { compileRe2 } from "../../../../../adapters/shared/logs/re2.ts";
import type { AccountId } from "../../../../../core/domain/accounts/account.ts";
import { ordinalCode } from "../../../../../core/domain/logs/cursor.ts";
import type { LogEntry, NewLogEntry } from "../../../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../../../core/domain/logs/filter/match.ts";
import { parseLogFilter } from "../../../../../core/domain/logs/filter/parse.ts";
import { partOf } from "../../../../../core/domain/logs/filter/record.ts";
import { isEverything } from "../../../../../core/domain/logs/filter/tree.ts";
import { type Instant, parseInstant } from "../../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../../core/domain/wire/names.ts";

const base = {
  owner: "acme" as AccountId,
  service: "my-app" as DeploymentName,
  severity: "WARNING",
  logName: "stdout",
  instant: parseInstant("2026-03-01T12:00:00.5Z") as Instant,
  code: ordinalCode(3),
} as const;

const matches = (filter: string, entry: Partial<NewLogEntry>): boolean =>
  matcherOf(parseLogFilter(filter, compileRe2)._unsafeUnwrap(), compileRe2)({ ...base, ...entry } as LogEntry);

const json = {
  user: "Ann",
  count: 30,
  ratio: 0.5,
  ok: true,
  none: null,
  tags: ["red", "blue"],
  items: [{ id: 1 }, { id: 2 }],
  request: { id: "r-1", "a/b": "slash", deep: { er: "x" } },
  __proto__x: "y",
};

const http = {
  requestMethod: "GET",
  requestUrl: "http://x/path?q=1",
  status: 503,
  latency: "1.500000s",
  remoteIp: "10.0.0.1",
};

const cases: Readonly<
  Record<string, readonly (readonly [filter: string, holds: boolean, entry?: Partial<NewLogEntry>])[]>
> = {
  "compares texts case-insensitively": [
    ['textPayload="HELLO world"', true, { text: "Hello World" }],
    ['textPayload:"LO W"', true, { text: "Hello World" }],
    ['textPayload="hello"', false, { text: "Hello World" }],
    ['textPayload!="hello"', true, { text: "Hello World" }],
    ['textPayload>"g"', true, { text: "Hello" }],
    ['textPayload:"strasse"', true, { text: "STRAßE" }],
    ['textPayload="ας"', true, { text: "ΑΣ" }],
    ['jsonPayload.user="ann"', true, { json }],
    ['textPayload="soft hyphen"', true, { text: "so\u00adft hy\u200bphen" }],
    ['textPayload:"a\\u2060b"', true, { text: "AB" }],
    ['textPayload="❤"', true, { text: "❤\ufe0f" }],
  ],
  "regular expressions are RE2, match anywhere and are case-sensitive": [
    ['textPayload=~"^Hel+o"', true, { text: "Hello" }],
    ['textPayload=~"hello"', false, { text: "Hello" }],
    ['textPayload=~"(?i)hello"', true, { text: "Hello" }],
    ['textPayload!~"x"', true, { text: "Hello" }],
    ['jsonPayload.missing!~"x"', false, { json }],
    ['jsonPayload.count=~"3"', false, { json }],
  ],
  "compares severities by rank, by name in any case or by number": [
    ["severity>=WARNING", true],
    ["severity>warning", false],
    ["severity=400", true],
    ["severity<ERROR", true],
    ["severity!=ERROR", true],
    ['severity=("ERROR" OR "WARNING")', true],
  ],
  "compares times as times": [
    ['timestamp>="2026-03-01T13:00:00.5+01:00"', true],
    ['timestamp>"2026-03-01T12:00:00.5Z"', false],
    ["timestamp>2026-03-01T12:00:00Z", true],
    ['timestamp<"2026-03-02"', true],
  ],
  "a missing payload field makes every comparison false, and its NOT true": [
    ['jsonPayload.missing="x"', false, { json }],
    ['jsonPayload.missing!="x"', false, { json }],
    ['NOT jsonPayload.missing="x"', true, { json }],
    ['-jsonPayload.missing="x"', true, { json }],
    ["jsonPayload.missing:*", false, { json }],
    ["jsonPayload.user:*", true, { json }],
    ["jsonPayload.none:*", true, { json }],
    ["jsonPayload.constructor:*", false, { json }],
    ["jsonPayload.empty:*", true, { json: { empty: [] } }],
    ["jsonPayload.empty=1", false, { json: { empty: [] } }],
    ["jsonPayload.items.id:*", true, { json }],
    ["jsonPayload.items.name:*", false, { json }],
  ],
  "a missing field of the entry itself is empty, 0 or false": [
    ['textPayload!="x"', true, { json }],
    ['trace=""', true],
    ["httpRequest.status<500", true],
    ["httpRequest.status=0", true],
    ["httpRequest.cacheHit=false", true],
    ["httpRequest.latency<1s", true],
    ["httpRequest:*", false],
    ["textPayload:*", false, { json }],
  ],
  "compares payload values by their type": [
    ["jsonPayload.count=30", true, { json }],
    ['jsonPayload.count="30"', true, { json }],
    ["jsonPayload.count>4", true, { json }],
    ["jsonPayload.count=(-5 OR 30)", true, { json }],
    ["jsonPayload.count=(-30)", false, { json }],
    ["jsonPayload.count=3e1", true, { json }],
    ["jsonPayload.count=many", false, { json }],
    ["jsonPayload.count!=many", false, { json }],
    ["jsonPayload.count:3", false, { json }],
    ["jsonPayload.ok=TRUE", true, { json }],
    ["jsonPayload.ok!=false", true, { json }],
    ["jsonPayload.none=NULL_VALUE", true, { json }],
    ["jsonPayload.user!=NULL_VALUE", true, { json }],
    ['jsonPayload.none="x"', false, { json }],
    ["jsonPayload.ok>false", true, { json }],
    ["jsonPayload.ok>=true", true, { json }],
    ["jsonPayload.ok<true", false, { json }],
    ["jsonPayload.ok:true", true, { json }],
    ["jsonPayload.count<Infinity", true, { json }],
    ["jsonPayload.count>-infinity", true, { json }],
    ["jsonPayload.count!=NaN", true, { json }],
    ["jsonPayload.count>=nan", false, { json }],
    ["jsonPayload.count=nan", false, { json }],
  ],
  "a list matches if one element matches": [
    ['jsonPayload.tags="BLUE"', true, { json }],
    ['jsonPayload.tags!="blue"', true, { json }],
    ["jsonPayload.items.id=2", true, { json }],
    ["jsonPayload.items.id>2", false, { json }],
    ['jsonPayload.tags=("green" OR "red")', true, { json }],
  ],
  "paths reach into payloads, with quotes for names that need them": [
    ['jsonPayload.request.id="r-1"', true, { json }],
    ['jsonPayload.request."a/b"="slash"', true, { json }],
    ['jsonPayload."request".deep.er="x"', true, { json }],
    ['jsonPayload.request:"slash"', true, { json }],
    ['jsonPayload:"ann"', true, { json }],
  ],
  "served requests": [
    ["httpRequest.status>=500", true, { http }],
    ["httpRequest.latency>1s", true, { http }],
    ["httpRequest.latency>1500ms", false, { http }],
    ['httpRequest.requestUrl:"/PATH"', true, { http }],
    ['httpRequest.remoteIp="10.0.0.1"', true, { http }],
    ["httpRequest.latency=1500ms", true, { http }],
    ["httpRequest.latency>=9ms", true, { http: { ...http, latency: "0.009000s" } }],
    ["httpRequest.latency<=9ms", true, { http: { ...http, latency: "0.009000s" } }],
    ['httpRequest.latency<"+1.5000000001s"', false, { http }],
    ['httpRequest.latency>".5s"', true, { http }],
    ['httpRequest.latency>"-1s"', true],
    ["httpRequest.cacheHit<true", true, { http }],
    ["httpRequest.latency=0s", true, { http: { ...http, latency: "soon" } }],
    ["httpRequest.status!=NaN", true, { http }],
    ["httpRequest.status<Infinity", true, { http }],
  ],
  "matches the source of an entry": [
    ['resource.type="cloud_run_revision"', true],
    ['resource.labels.service_name="my-app"', true],
    ['resource.labels.revision_name="my-app-00001"', true, { revision: "my-app-00001" }],
    ['labels.instanceId="i1"', true, { instance: "i1" }],
    ['labels.instanceId="i1"', false],
    ['log_id("stdout")', true],
    ['logName:"std"', true],
    [
      'trace="4bf92f3577b34da6a3ce929d0e0e4736"',
      true,
      { json: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" } },
    ],
    ['log_id("STDOUT")', true],
    ['log_id("stderr")', false],
  ],
  "a bare word is searched in all fields": [
    ["hello", true, { text: "say HELLO" }],
    ['"r-1"', true, { json }],
    ["503", true, { http }],
    ["my-app", true],
    ["WARN", true],
    ["green", false, { json }],
    ["count", false, { json }],
    ["null", false, { json }],
    ["0.5", true, { json }],
    ["cloud_run", true],
  ],
  "comments and any white space may separate terms": [
    ["severity>=WARNING--only what is bad", true],
    ['severity>=ERROR -- a comment ) ( " in it\n OR severity=WARNING', true],
    ["qa--qb", true, { text: "qa" }],
    ["qa --qb\u2028qc", false, { text: "qa" }],
    ["qa-qb", true, { text: "qa-qb" }],
    ["severity>=WARNING\u00a0AND\u3000qa", true, { text: "qa" }],
    ["timestamp>2026-03-01T12:00:00Z\u00a0qa", true, { text: "qa" }],
  ],
  "OR binds tighter than AND, which may be omitted": [
    ["qa OR qb qc", true, { text: "qb qc" }],
    ["qa OR qb qc", false, { text: "qa qb" }],
    ["qc qa OR qb", true, { text: "qc qb" }],
    ['"qa" OR NOT "qb" AND NOT "qc" OR "qd"', true, { text: "x" }],
    ['"qa" OR NOT "qb" AND NOT "qc" OR "qd"', false, { text: "qb qd" }],
    ['"qa" OR NOT "qb" AND NOT "qc" OR "qd"', false, { text: "qc" }],
  ],
};

describe.each(Object.entries(cases))("%s", (_rule, examples) => {
  for (const [filter, holds, entry = {}] of examples)
    test(`${filter}: ${holds}`, () => expect(matches(filter, entry)).toBe(holds));
});

test("throws for an invalid pattern, which is a bug of the filter's author", () => {
  const filter = parseLogFilter('textPayload=~"a"', compileRe2)._unsafeUnwrap();
  expect(() => matcherOf(filter, () => ({ problem: "no" }))).toThrow("the filter has an invalid pattern: no");
});

test("an unknown field name matches nothing", () => {
  const entry = { ...base, text: "x" } as LogEntry;
  expect(partOf(entry, "textPayload")).toBe("x");
  expect(partOf(entry, "constructor")).toBeUndefined();
});

test("only the filter without terms matches everything", () => {
  const everythingOf = (text: string) => isEverything(parseLogFilter(text, compileRe2)._unsafeUnwrap());
  expect(["", "a", "a b", "a OR b"].map(everythingOf)).toEqual([true, false, false, false]);
});

test("searches a payload that nests ten thousand deep", () => {
  let deep: unknown = "bottom";
  for (let depth = 0; depth < 10_000; depth++) deep = { in: [deep] };
  expect(matches("BOTTOM", { json: { deep } })).toBe(true);
  expect(matches('jsonPayload.deep:"top"', { json: { deep } })).toBe(false);
  let list: unknown = "bottom";
  for (let depth = 0; depth < 100_000; depth++) list = [list];
  expect(matches("jsonPayload.list=bottom", { json: { list } })).toBe(true);
  expect(matches("jsonPayload.list:*", { json: { list } })).toBe(true);
});
