/**
 * The fields of a deploy. The schemas validate the HTTP form, the plan, `portside.json` and the command line's flags.
 * The OpenAPI and JSON Schema documents are generated from them.
 */
import { z } from "zod";
import { err, ok, type Result } from "../../result.ts";
import { fieldLimits, releaseLimits } from "../accounts/limits.ts";
import { type DeclaredSchedule, parseScheduleField, parseTimeZoneField } from "../schedules/schedule.ts";
import { type Mount, readMounts } from "../volumes/mounts.ts";
import { type ObjectPath, objectPathProblem } from "../volumes/object-path.ts";
import { booleanField, integerField, jsonField, numberField, parsedField, readField } from "../wire/fields.ts";
import { type Issue, issue } from "../wire/issue.ts";
import {
  type DeploymentName,
  deploymentNameProblem,
  deploymentNameShape,
  normalizeDeploymentName,
  secretNameShape,
  type VolumeName,
} from "../wire/names.ts";
import { type DeclaredVariables, readEnvironment } from "./environment.ts";
import { type HealthCheck, healthLimits, readHealth } from "./health.ts";
import { type IdleMode, idleModes, parseIdleField } from "./idle.ts";
import { parseMinInstances } from "./instances.ts";
import { formatMemory, memoryShape, parseMemory } from "./resources.ts";

const deploymentName = readField<DeploymentName>(
  (text) => {
    const name = normalizeDeploymentName(text);
    const problem = deploymentNameProblem(name, []);
    if (problem === undefined) return { value: name as DeploymentName };
    const type = name === "" ? "string_too_short" : name.length > 49 ? "string_too_long" : "string_pattern_mismatch";
    return { problem, type };
  },
  "The deployment's name, which becomes its host name. Each `_` becomes `-`.",
  ["my-app"],
  deploymentNameShape,
);

const memory = readField<number>(
  (text) => {
    const bytes = parseMemory(text);
    const least = fieldLimits.memory.minBytes;
    if (bytes === undefined)
      return { problem: "must be a quantity such as '512Mi', '1Gi' or '2G'", type: "string_pattern_mismatch" };
    return bytes < least
      ? { problem: `must be at least ${formatMemory(least)}`, type: "greater_than_equal" }
      : { value: bytes };
  },
  "Memory of one instance as a Kubernetes quantity, from 128Mi to the provider's maximum.",
  ["512Mi", "1Gi", "2G"],
  memoryShape,
);

/** A mount in a request. */
export interface MountRequest {
  readonly name: string;
  readonly read_only?: boolean | undefined;
  readonly sub_path?: string | undefined;
}

const volumes = jsonField<readonly Mount[], Readonly<Record<string, string | MountRequest>>>(
  (raw) => {
    const absent = raw === undefined || raw === null;
    if (absent)
      return { value: [], issues: [issue([], "is required; send {} for a service without storage", "missing")] };
    const { mounts, issues } = readMounts(raw);
    return { value: mounts, issues };
  },
  {
    description:
      'An object that maps each mount path to a volume name, or to {name, read_only?, sub_path?}; "{}" for no storage.',
    examples: [{}, { "/data": "my-volume" }],
    type: "object",
    maxProperties: fieldLimits.mounts.max,
    additionalProperties: {
      anyOf: [
        { type: "string" },
        {
          type: "object",
          properties: { name: { type: "string" }, read_only: { type: "boolean" }, sub_path: { type: "string" } },
          required: ["name"],
          additionalProperties: false,
        },
      ],
    },
  },
);

/** Environment variables by name, each with its value or the secret that has its value. */
export type VariableValues = Readonly<
  Record<string, string | { readonly secret: string; readonly version?: number | undefined }>
>;

/** The JSON schema of a variable. */
export const variableShape = {
  anyOf: [
    { type: "string" },
    {
      type: "object",
      properties: {
        secret: { type: "string", ...secretNameShape, description: "The name of a secret." },
        version: { type: "integer", minimum: 1, description: "The version; defaults to the newest one." },
      },
      required: ["secret"],
      additionalProperties: false,
    },
  ],
} as const;

const environment = jsonField<DeclaredVariables, VariableValues>(
  (raw) => {
    const { env, secrets, issues } = readEnvironment(raw);
    return { value: { env, secrets }, issues };
  },
  {
    description:
      "The environment variables of the service. They replace all current variables; {} removes all. Omit the field " +
      'to keep the current variables. A variable with {"secret": NAME} has the value of a secret: the newest version ' +
      "at the time of the deploy, or `version`.",
    examples: [{ LOG_LEVEL: "info" }, { API_KEY: { secret: "STRIPE_KEY" } }],
    type: "object",
    additionalProperties: variableShape,
  },
);

const minInstances = parsedField<number, number | null>(parseMinInstances, {
  description:
    "The number of instances that run even without requests, at most `max_instances`. 0 or `null` permits the service " +
    "to scale to zero. Omit the field to keep the current value.",
  examples: [0, 1],
  type: ["integer", "null"],
  minimum: fieldLimits.min_instances.min,
  maximum: fieldLimits.min_instances.max,
});

const idle = parsedField<IdleMode | null, IdleMode | null>(parseIdleField, {
  description:
    "Whether an idle instance is frozen until its next request, or stops. `null` selects the platform's default. Omit " +
    "the field to keep the current value.",
  examples: [...idleModes],
  type: ["string", "null"],
  enum: [...idleModes, null],
});

const bounded = ({ min, max, default: value }: { min: number; max: number; default: number }, description: string) => ({
  type: "integer",
  minimum: min,
  maximum: max,
  default: value,
  description,
});

type HealthRequest = Pick<HealthCheck, "path"> & { readonly [K in keyof HealthCheck]?: HealthCheck[K] | undefined };

const health = jsonField<HealthCheck | null, HealthRequest | null>(readHealth, {
  description:
    "The request with which the platform checks whether an instance can serve. A status from 200 to 399 is healthy. A " +
    "new revision receives traffic when the check passes, and an instance that fails repeatedly is replaced. `null` " +
    "removes the check. Omit the field to keep the current check.",
  examples: [{ path: "/healthz" }, { path: "/healthz", interval: 30, timeout: 2, failures: 5 }],
  type: ["object", "null"],
  properties: {
    path: {
      type: "string",
      pattern: "^/[!-~]*$",
      maxLength: healthLimits.pathChars,
      description: "The path and query of the request.",
    },
    interval: bounded(healthLimits.interval, "Seconds from one check to the next."),
    timeout: bounded(healthLimits.timeout, "Seconds to wait for a response, at most `interval`."),
    failures: bounded(healthLimits.failures, "Consecutive failures after which an instance is replaced."),
    host: {
      type: "string",
      maxLength: healthLimits.hostChars,
      description: "The `Host` header of the request; by default the address of the instance.",
    },
  },
  required: ["path"],
  additionalProperties: false,
});

/** Empty text and `null` count as absent. */
const volumesOrMissing = z.preprocess(
  (raw: z.input<typeof volumes>) => (["", null].includes(raw as never) ? undefined : raw),
  volumes,
);

/** The fields that describe the service, by their wire names. Excludes the name, the schedule and the source. */
export const serviceFields = {
  port: integerField(
    fieldLimits.port,
    "The port of the service in containers and on clouds. The service must listen on the port in the variable PORT.",
  ),
  memory: memory
    .default(parseMemory(fieldLimits.memory.default) as number)
    .meta({ ...memory.meta(), default: fieldLimits.memory.default }),
  cpu: numberField(
    fieldLimits.cpu,
    "The CPUs of one instance, such as 0.5, raised to a size that the provider offers.",
  ),
  timeout: integerField(
    fieldLimits.timeout,
    "The time limit of one request in seconds. A request that exceeds it receives a 504.",
  ),
  concurrency: integerField(fieldLimits.concurrency, "The maximum number of concurrent requests per instance."),
  max_instances: integerField(
    fieldLimits.max_instances,
    "The maximum number of instances; 0 selects the platform's default.",
  ),
  session_affinity: booleanField(
    false,
    "Routes all requests from one client to the same instance while that instance runs.",
  ),
  use_http2: booleanField(false, "Uses HTTP/2 (h2c) for requests to the service."),
  volumes: volumesOrMissing,
  env: environment.optional(),
  min_instances: minInstances.optional(),
  health: health.optional(),
  idle: idle.optional(),
} as const;

/** A schedule in a request. */
export interface ScheduleRequest {
  readonly cron: string;
  readonly timezone?: string | undefined;
}

const scheduleFields = {
  schedule: parsedField<DeclaredSchedule | null, string | ScheduleRequest | null | undefined>(parseScheduleField, {
    description: "A five-field cron expression, or {cron, timezone}. If empty or absent, the service has no schedule.",
    examples: ["0 9 * * 1-5", '{"cron": "0 9 * * 1-5", "timezone": "Europe/Paris"}'],
    type: "string",
    default: "",
  }),
  timezone: parsedField<string, string | null | undefined>(parseTimeZoneField, {
    description: "The IANA time zone of the schedule; defaults to UTC.",
    examples: ["Europe/Paris"],
    type: "string",
    default: "",
  }),
} as const;

/** An object in a volume, used as the source of a deploy. */
export interface SourceObject {
  readonly volume: VolumeName;
  readonly path: ObjectPath;
}

/** Empty text and `null` count as absent. */
const parseSourceObject = (raw: unknown): Result<SourceObject | null, readonly Issue[]> => {
  if (raw === null || raw === "" || raw === "null") return ok(null);
  const fail = (message: string) => err([issue([], message, "value_error")]);
  if (typeof raw !== "string") return fail("must be a string such as 'my-volume/source.tar.gz'");
  const slash = raw.indexOf("/");
  if (slash < 1 || slash === raw.length - 1) return fail("must be VOLUME/PATH, such as 'my-volume/source.tar.gz'");
  const path = raw.slice(slash + 1);
  const problem = objectPathProblem(path);
  return problem === undefined
    ? ok({ volume: raw.slice(0, slash) as VolumeName, path: path as ObjectPath })
    : fail(problem);
};

const sourceObject = parsedField<SourceObject | null, string | null>(parseSourceObject, {
  description: "The source in one of your volumes, as VOLUME/PATH: a tar.gz of at most 2 GiB.",
  type: ["string", "null"],
}).optional();

const parseMessage = (raw: unknown): Result<string | null, readonly Issue[]> => {
  if (raw === null || raw === "") return ok(null);
  if (typeof raw !== "string") return err([issue([], "must be a string", "string_type")]);
  const max = releaseLimits.messageChars;
  return raw.length > max ? err([issue([], `must be at most ${max} characters`, "string_too_long")]) : ok(raw);
};

/** The message of a release, in a deploy or a redeploy. */
export const messageField = parsedField<string | null, string | null>(parseMessage, {
  description: "A message about the change, which the list of releases shows.",
  examples: ["Fix the login page"],
  type: ["string", "null"],
  maxLength: releaseLimits.messageChars,
});

/** All text fields of `POST /v1/deploy`. The form also contains the archive, as a file. */
export const deployFields = {
  function_name: deploymentName,
  ...serviceFields,
  ...scheduleFields,
  source_object: sourceObject,
  message: messageField.optional(),
} as const;
