/**
 * The fields of a deploy. This table validates the HTTP form, the plan, `portside.json` and the command line's flags,
 * and generates the OpenAPI and JSON Schema documents.
 */
import { z } from "zod";
import { fieldLimits } from "../accounts/limits.ts";
import { type Mount, readMounts } from "../volumes/mounts.ts";
import { booleanField, integerField, jsonField, readField } from "../wire/fields.ts";
import { issue } from "../wire/issue.ts";
import {
  type DeploymentName,
  deploymentNameProblem,
  deploymentNameShape,
  normalizeDeploymentName,
} from "../wire/names.ts";
import { readEnvironment } from "./environment.ts";
import { formatMemory, memoryShape, parseMemory } from "./resources.ts";

const deploymentName = readField<DeploymentName>(
  (text) => {
    const name = normalizeDeploymentName(text);
    const problem = deploymentNameProblem(name, []);
    if (problem === undefined) return { value: name as DeploymentName };
    const type = name === "" ? "string_too_short" : name.length > 49 ? "string_too_long" : "string_pattern_mismatch";
    return { problem, type };
  },
  "The deployment's name, which becomes its host name; `_` is read as `-`.",
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
  "Memory of one instance, a Kubernetes quantity; 128Mi up to the provider's most.",
  ["512Mi", "1Gi", "2G"],
  memoryShape,
);

const volumes = jsonField<readonly Mount[]>(
  (raw) => {
    const absent = raw === undefined || raw === null;
    if (absent)
      return { value: [], issues: [issue([], "is required; send {} for a service without storage", "missing")] };
    const { mounts, issues } = readMounts(raw);
    return { value: mounts, issues };
  },
  {
    description:
      'Mount declaration: mount path → volume name, or {name, read_only?, sub_path?}; "{}" declares no storage.',
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

const environment = jsonField(
  (raw) => {
    const { env, issues } = readEnvironment(raw);
    return { value: env, issues };
  },
  {
    description: "Environment of the service: absent keeps the present one, {} clears it, else it replaces it whole.",
    examples: [{ LOG_LEVEL: "info" }],
    type: "object",
    additionalProperties: { type: "string" },
  },
);

/** Empty text and `null` count as absent. */
const volumesOrMissing = z.preprocess((raw) => (raw === "" || raw === null ? undefined : raw), volumes);

/** The fields that describe the service, by their wire names. Excludes the name, the schedule and the source. */
export const serviceFields = {
  port: integerField(
    fieldLimits.port,
    "The service listens on PORT of its environment; this number in containers and on clouds.",
  ),
  memory: memory
    .default(parseMemory(fieldLimits.memory.default) as number)
    .meta({ ...memory.meta(), default: fieldLimits.memory.default }),
  cpu: integerField(fieldLimits.cpu, "CPUs of one instance; raised where the memory asked for needs more."),
  timeout: integerField(fieldLimits.timeout, "Seconds for one request; past it the client gets 504."),
  concurrency: integerField(fieldLimits.concurrency, "Requests at once in one instance."),
  max_instances: integerField(fieldLimits.max_instances, "Most instances at once; 0: the platform's own limit."),
  session_affinity: booleanField(false, "Requests of one client keep going to one instance while it lives."),
  use_http2: booleanField(false, "HTTP/2 (h2c) from the edge to the service."),
  volumes: volumesOrMissing,
  env: environment.optional(),
} as const;

/** Read together by `readSchedule`, because the schedule may contain the time zone. */
const scheduleFields = {
  schedule: z.unknown().meta({
    description: "Five-field cron expression, or {cron, timezone}; empty or absent removes any schedule.",
    examples: ["0 9 * * 1-5", '{"cron": "0 9 * * 1-5", "timezone": "Europe/Paris"}'],
    type: "string",
    default: "",
  }),
  timezone: z.unknown().meta({
    description: "IANA time zone of the schedule; empty is UTC.",
    examples: ["Europe/Paris"],
    type: "string",
    default: "",
  }),
} as const;

const sourceObject = z
  .union([z.string(), z.null()], { error: "must be a text such as 'my-volume/source.tar.gz'" })
  .optional()
  .meta({ description: "VOLUME/PATH: a tar.gz in one of the caller's volumes." });

/** All text fields of `POST /v1/deploy`. The archive is the form's file. */
export const deployFields = {
  function_name: deploymentName,
  ...serviceFields,
  ...scheduleFields,
  source_object: sourceObject,
} as const;
