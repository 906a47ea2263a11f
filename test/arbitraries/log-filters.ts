/** Log entries with few different values, and filters on those values, so that many entries match and many do not. */
import fc from "fast-check";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { ordinalCode } from "../../core/domain/logs/cursor.ts";
import { type LogEntry, type LogName, type NewLogEntry, severityNames } from "../../core/domain/logs/entry.ts";
import { type Comparison, type FieldPath, joined, type LogFilter } from "../../core/domain/logs/filter/tree.ts";
import type { Instant } from "../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";

/** Words that test case folding and escaping: sharp s, sigmas, wide letters, a Kelvin sign, quotes and backslashes. */
const words = [
  "timeout",
  "Timeout after 30",
  "straße",
  "STRASSE",
  "stra\u00ad\u200bsse",
  "ΑΣ",
  "ας",
  "ｗｉｄｅ",
  "wide",
  "273 \u212a",
  "273 k",
  'say "hi"',
  "C:\\temp",
  "",
  "30",
  "true",
  "null",
  "a\u0000b",
  "líne\nbreak",
];

/** The text of a log entry, or a literal in a filter. */
export const logWord = (): fc.Arbitrary<string> => fc.constantFrom(...words);

const leaf = (): fc.Arbitrary<unknown> =>
  fc.oneof(logWord(), fc.constantFrom(0, -5, 30, 1e21, 0.5), fc.boolean(), fc.constant(null));

const names = ["user", "id", "a/b", "constructor", "list"] as const;

const payload = (): fc.Arbitrary<Record<string, unknown>> =>
  fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(
      { weight: 4, arbitrary: leaf() },
      { weight: 1, arbitrary: fc.array(leaf(), { maxLength: 3 }) },
      { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...names), leaf(), { noNullPrototype: true }) },
    ),
    { maxKeys: 3, noNullPrototype: true },
  );

const http = () =>
  fc.record(
    {
      requestMethod: fc.constantFrom("GET", "POST"),
      requestUrl: fc.constantFrom("http://x/", "http://x/timeout?q=30"),
      status: fc.constantFrom(200, 404, 500),
      latency: fc.constantFrom("0.001000s", "0.009000s", "0.200000s", "1.500000s"),
      userAgent: fc.constantFrom("curl/8", "Timeout"),
      responseSize: fc.constantFrom(0, 30),
    },
    { noNullPrototype: true, requiredKeys: ["requestMethod", "requestUrl", "status", "latency"] },
  );

const logNames: readonly LogName[] = ["stdout", "stderr", "requests", "platform"];

/** An entry to append, without the position that the store gives it. */
export const newLogEntry = (
  owner = "acme" as AccountId,
  service = "app" as DeploymentName,
): fc.Arbitrary<NewLogEntry> =>
  fc
    .record(
      {
        severity: fc.constantFrom(...severityNames),
        logName: fc.constantFrom(...logNames),
        revision: fc.constantFrom("app-00001", "app-00002"),
        instance: fc.constantFrom("i1", "i2"),
        text: logWord(),
        json: payload(),
        http: http(),
      },
      { noNullPrototype: true, requiredKeys: ["severity", "logName"] },
    )
    .map((entry) => ({ owner, service, ...entry }));

/** The instant of an entry. There are few, so that many entries share one. */
export const logInstant = (): fc.Arbitrary<Instant> =>
  fc.integer({ min: 0, max: 5 }).map((nanos) => (1_767_225_600_000_000_000n + BigInt(nanos)) as Instant);

/** An entry with a position. */
export const logEntry = (): fc.Arbitrary<LogEntry> =>
  fc
    .tuple(newLogEntry(), logInstant(), fc.nat({ max: 3 }))
    .map(([entry, instant, ordinal]) => ({ ...entry, instant, code: ordinalCode(ordinal) }));

const any = [
  ["jsonPayload", "user"],
  ["jsonPayload", "list"],
  ["jsonPayload", "user", "id"],
  ["jsonPayload", "a/b"],
  ["jsonPayload", "constructor"],
  ["labels", "instanceId"],
  ["resource", "labels", "service_name"],
  ["resource", "labels", "revision_name"],
] as const satisfies readonly FieldPath[];

const texts = [
  ["textPayload"],
  ["logName"],
  ["insertId"],
  ["trace"],
  ["resource", "type"],
  ["httpRequest", "requestUrl"],
  ["httpRequest", "userAgent"],
] as const satisfies readonly FieldPath[];

const ordering: readonly Comparison[] = ["=", "!=", "<", "<=", ">", ">=", ":"];

const compare = (
  paths: readonly FieldPath[],
  ops: readonly Comparison[],
  literals: fc.Arbitrary<string>,
): fc.Arbitrary<LogFilter> =>
  fc
    .tuple(fc.constantFrom(...paths), fc.constantFrom(...ops), literals)
    .map(([path, op, text]) => ({ kind: "compare", path, op, literal: { text } }));

const literal = () =>
  fc.oneof(
    logWord(),
    fc.constantFrom("30", "-5", "0.5", "1e21", "false", "Infinity", "GET", "stdout", "I1", "2026-01", "00:00"),
  );

/** Valid RE2 patterns that every provider must match in the same way. */
const pattern = () => fc.constantFrom("time.*", "^T", "\\d+$", "[Ss]TRA", "a|b", "", "[^x]", "σ");

const term = (): fc.Arbitrary<LogFilter> =>
  fc.oneof(
    compare(any, ordering, literal()),
    compare(texts, ordering, literal()),
    compare([...any, ...texts], ["=~", "!~"], pattern()),
    compare(
      [["timestamp"]],
      ordering,
      fc.integer({ min: 0, max: 5 }).map((n) => `2026-01-01T00:00:00.00000000${n}Z`),
    ),
    compare([["severity"]], ordering, fc.constantFrom(...severityNames, "warning", "450")),
    compare([["severity"]], [":"], fc.constantFrom("ERR", "e", "zzz")),
    compare(
      [
        ["httpRequest", "status"],
        ["httpRequest", "responseSize"],
      ],
      ordering,
      fc.constantFrom("0", "404", "nan", "-Infinity", "30"),
    ),
    compare(
      [["httpRequest", "latency"]],
      ordering,
      fc.constantFrom("0s", "200ms", "1.5s", "1ms", ".001s", "+9000us", "9ms"),
    ),
    compare([["jsonPayload"], ["httpRequest"], ["labels"]], [":"], literal()),
    compare([["httpRequest", "cacheHit"]], ordering, fc.constantFrom("true", "FALSE")),
    fc.constantFrom(...any).map((path): LogFilter => ({ kind: "compare", path, op: "=", literal: { text: null } })),
    fc
      .constantFrom<FieldPath>(...any, ["textPayload"], ["jsonPayload"], ["httpRequest"], ["httpRequest", "userAgent"])
      .map((path): LogFilter => ({ kind: "exists", path })),
    fc.oneof(literal(), fc.constantFrom("cloud_run", "app")).map((text): LogFilter => ({ kind: "search", text })),
    fc.constantFrom("stdout", "REQUESTS", "nope").map((id): LogFilter => ({ kind: "log_id", id })),
  );

/** A filter in the form that the parser returns: nested terms of one kind are joined. */
export const logFilter = (): fc.Arbitrary<LogFilter> =>
  fc.letrec<{ filter: LogFilter }>((tie) => ({
    filter: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { weight: 3, arbitrary: term() },
      {
        weight: 1,
        arbitrary: fc
          .tuple(
            fc.constantFrom("and" as const, "or" as const),
            fc.array(tie("filter"), { minLength: 2, maxLength: 3 }),
          )
          .map(([kind, terms]) => joined(kind, terms)),
      },
      { weight: 1, arbitrary: tie("filter").map((one): LogFilter => ({ kind: "not", term: one })) },
    ),
  })).filter;
