/**
 * Deploy requests with exactly one fault each, and the field that the error must name. The faults violate the rules of
 * the deploy's fields, names, schedules and mounts.
 */
import fc from "fast-check";
import { fieldLimits, GiB } from "../../core/domain/accounts/limits.ts";
import type { IssueType } from "../../core/domain/wire/issue.ts";
import { deploymentNameProblem, normalizeDeploymentName, reservedNames } from "../../core/domain/wire/names.ts";
import { brokenSchedules } from "./broken-schedules.ts";
import { brokenEnvironments, brokenVolumes } from "./broken-storage.ts";
import { type DeployRequestCase, deployRequest } from "./deploy-requests.ts";
import { type Fault, fault, jsonFault, wrongTypes } from "./fault.ts";
import { nastyString } from "./nasty-strings.ts";
import { memoryQuantity } from "./resources.ts";

/** Maximum sizes of `cloudRunLikeCatalogue`. The valid requests fit this catalogue. */
const MAX_CPU = 8;
const MAX_MEMORY = 32 * GiB;

const notAnInteger = (): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constantFrom<unknown>("", " ", "1.5", "0x10", "1e3", "1_000", "١", "true", "null", 1.5, null),
    fc.constantFrom<unknown>(true, [], [1], {}, { toString: 1 }),
    nastyString().filter((text) => !/^[+-]?\d{1,300}$/.test(text)),
  );

const integerFaults = (field: string, min: number, max: number): Fault[] => [
  fault(field, "greater_than_equal", fc.integer({ min: -1_000_000, max: min - 1 })),
  fault(field, "less_than_equal", fc.integer({ min: max + 1, max: 999_999_999 })),
  fault(field, "less_than_equal", fc.constantFrom<unknown>("1234567890123456", "9".repeat(30), 2 ** 53)),
  fault(field, "int_parsing", notAnInteger()),
];

const cpuFaults: readonly Fault[] = [
  fault("cpu", "greater_than_equal", fc.integer({ min: -1_000_000, max: 0 })),
  fault("cpu", "greater_than_equal", fc.constantFrom<unknown>("0.2499", 0.1, "-0.5")),
  fault("cpu", "less_than_equal", fc.integer({ min: MAX_CPU + 1, max: 999_999_999 })),
  fault("cpu", "less_than_equal", fc.constantFrom<unknown>(`${MAX_CPU}.25`, MAX_CPU + 0.5, "9".repeat(30), 2 ** 53)),
  fault("cpu", "int_parsing", fc.constantFrom<unknown>("", " ", "0x10", "1e3", ".5", "1.", "1,5", "١", "true", null)),
  fault("cpu", "int_parsing", fc.constantFrom<unknown>(true, [], [1], {}, { toString: 1 })),
];

const isFlag = (text: string): boolean => ["true", "false", "1", "0"].includes(text.toLowerCase());

const flagFaults = (field: string): Fault[] => [
  fault(
    field,
    "bool_parsing",
    nastyString().filter((text) => !isFlag(text)),
  ),
  fault(field, "bool_parsing", fc.constantFrom<unknown>("yes", "on", "2", null, [], {}, { toString: 1 })),
  jsonFault(field, "bool_parsing", fc.constantFrom<unknown>(0, 1)),
];

const nameFaults: readonly Fault[] = [
  fault("function_name", "missing", fc.constant(undefined)),
  fault("function_name", "string_too_short", fc.constant("")),
  fault(
    "function_name",
    "string_too_long",
    fc.integer({ min: 50, max: 300 }).map((length) => "a".repeat(length)),
  ),
  fault(
    "function_name",
    "string_pattern_mismatch",
    fc.constantFrom("A", "1a", "-a", "a-", "a_", "a b", "a.b", "é", "a\n"),
  ),
  fault("function_name", "value_error", fc.constantFrom(...reservedNames)),
  fault(
    "function_name",
    undefined,
    nastyString().filter((text) => deploymentNameProblem(normalizeDeploymentName(text)) !== undefined),
  ),
  jsonFault("function_name", "string_type", wrongTypes()),
];

const memoryFaults: readonly Fault[] = [
  fault(
    "memory",
    "greater_than_equal",
    memoryQuantity(0, fieldLimits.memory.minBytes - 1).map(({ text }) => text),
  ),
  fault(
    "memory",
    "less_than_equal",
    memoryQuantity(MAX_MEMORY + 1, 8000 * GiB).map(({ text }) => text),
  ),
  fault(
    "memory",
    "string_pattern_mismatch",
    fc.constantFrom("", " ", "1 Gi", "1gi", "1GiB", "1GB", "Gi", "-1Gi", "1.Gi", "1,5Gi", "1e", "1m", "0x1Gi", "∞"),
  ),
  jsonFault("memory", "string_type", fc.oneof(fc.constant(GiB), wrongTypes())),
];

const known = [
  "function_name port memory source_archive source_object session_affinity use_http2 timeout cpu concurrency",
  "max_instances volumes schedule timezone env min_instances health idle message",
]
  .join(" ")
  .split(" ");

const faults: readonly Fault[] = [
  ...nameFaults,
  ...integerFaults("port", fieldLimits.port.min, fieldLimits.port.max),
  ...integerFaults("timeout", fieldLimits.timeout.min, fieldLimits.timeout.max),
  ...integerFaults("concurrency", fieldLimits.concurrency.min, fieldLimits.concurrency.max),
  ...integerFaults("max_instances", fieldLimits.max_instances.min, fieldLimits.max_instances.max),
  ...cpuFaults,
  ...memoryFaults,
  ...flagFaults("session_affinity"),
  ...flagFaults("use_http2"),
  ...brokenVolumes,
  ...brokenEnvironments,
  ...brokenSchedules,
  fault("min_instances", "value_error", fc.constantFrom<unknown>("", "one", "-1", -1, 1001, "1001", 1.5, true, [], {})),
  fault(
    "health",
    "value_error",
    fc.constantFrom<unknown>(
      ...[true, 5, [], {}, { path: "healthz" }, { path: "" }, { path: "/a b" }, { path: "/é" }, { path: "/a#b" }],
      ...[{ path: 1 }, { path: `/${"x".repeat(1024)}` }, { path: "/", host: "" }, { path: "/", host: "a/b" }],
      ...[
        { path: "/", interval: 0 },
        { path: "/", interval: 241 },
        { path: "/", interval: "10" },
      ],
      ...[
        { path: "/", interval: 1.5 },
        { path: "/", timeout: 61 },
        { path: "/", timeout: 0 },
      ],
      ...[
        { path: "/", interval: 5, timeout: 6 },
        { path: "/", failures: 0 },
        { path: "/", failures: 11 },
      ],
    ),
  ),
  fault("health", "json_invalid", fc.constantFrom("/healthz", "{path: '/'}", '{"path": "/", "path": "/a"}')),
  fault("health", "extra_forbidden", fc.constantFrom<unknown>({ path: "/", intervall: 5 }, { path: "/", Path: "/" })),
  fault("message", "string_too_long", fc.string({ minLength: 201, maxLength: 1000 })),
  jsonFault(
    "message",
    "string_type",
    wrongTypes().filter((value) => value !== null),
  ),
  fault(
    "idle",
    "value_error",
    fc.constantFrom<unknown>(
      "",
      " ",
      "frozen",
      "Freeze",
      "stop ",
      "default",
      "undefined",
      0,
      1,
      true,
      [],
      ["stop"],
      {},
    ),
  ),
];

const unknownField = (): fc.Arbitrary<Fault> =>
  fc
    .oneof(fc.constantFrom("prot", "Port", "functionName", "constructor", "toString", "cpu "), nastyString())
    .filter((name) => !known.includes(name))
    .map((name) => fault(name, "extra_forbidden", fc.constantFrom("", "1", "{}")));

/** A request with one fault. */
export interface BrokenRequestCase {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The field that every issue must name first in its location. */
  readonly field: string;
  /** The `type` of the issue; undefined if several types are correct. */
  readonly type: IssueType | undefined;
}

/** The value as text of a form. */
const asText = (value: unknown): unknown =>
  value === undefined || typeof value === "string" ? value : JSON.stringify(value);

const breakIt = ({ json, form }: DeployRequestCase, one: Fault, asForm: boolean): fc.Arbitrary<BrokenRequestCase> =>
  one.fields.map((changes) => {
    const pairs = Object.entries(changes).map(([name, value]) => [name, asForm ? asText(value) : value]);
    const merged = [
      ...Object.entries(asForm ? form : json).filter(([name]) => !Object.hasOwn(changes, name)),
      ...pairs,
    ];
    return {
      fields: Object.fromEntries(merged.filter(([, value]) => value !== undefined)),
      field: one.field,
      type: one.type,
    };
  });

/** A valid request for a provider with the sizes of `cloudRunLikeCatalogue`, with one limit violated. */
export const brokenDeployRequest = (): fc.Arbitrary<BrokenRequestCase> =>
  fc
    .tuple(
      deployRequest(),
      fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...faults) }, { weight: 1, arbitrary: unknownField() }),
      fc.boolean(),
    )
    .chain(([request, one, asForm]) => breakIt(request, one, asForm && one.only !== "json"));
