/** Validates a deploy request and converts it to a complete declaration. */
import { err, ok, type Result } from "../../result.ts";
import { type AccountLimits, accountLimits } from "../accounts/limits.ts";
import { scheduleOf, timeZoneConflict } from "../schedules/schedule.ts";
import type { Capabilities, Feature } from "../wire/capabilities.ts";
import { parseFields, type RawFields, type Values } from "../wire/fields.ts";
import { type Issue, type IssueType, issue } from "../wire/issue.ts";
import { reservedNames } from "../wire/names.ts";
import { aliasIssues, type EnvAliases } from "./environment.ts";
import { deployFields, type SourceObject } from "./fields.ts";
import { healthIssues } from "./health.ts";
import { effectiveMax } from "./instances.ts";
import { cpuForMounts, fitResources, formatMemory, maxCpu, maxMemory } from "./resources.ts";

/** The location of the source: an archive in the request, or an object of a volume. */
export type SourceReference = { readonly kind: "archive" } | ({ readonly kind: "object" } & SourceObject);

/**
 * Converts the parsed fields of a request to a declaration.
 * @param writtenName the name as the client wrote it
 */
const declarationOf = (
  fields: Values<typeof deployFields>,
  writtenName: string,
  source: SourceReference | undefined,
) => ({
  name: fields.function_name,
  /** The name as the client wrote it. */
  writtenName,
  port: fields.port,
  /** Bytes. */
  memory: fields.memory,
  cpu: fields.cpu,
  /** Seconds. */
  timeout: fields.timeout,
  concurrency: fields.concurrency,
  /** 0 means the platform's default. */
  maxInstances: fields.max_instances,
  sessionAffinity: fields.session_affinity,
  useHttp2: fields.use_http2,
  mounts: fields.volumes,
  schedule: scheduleOf(fields.schedule, fields.timezone),
  ...(fields.env === undefined ? {} : { env: fields.env.env, secretReferences: fields.env.secrets }),
  ...(fields.min_instances === undefined ? {} : { minInstances: fields.min_instances }),
  ...(fields.health === undefined ? {} : { health: fields.health }),
  ...(fields.idle === undefined ? {} : { idle: fields.idle }),
  ...(source === undefined ? {} : { source }),
  ...(fields.message ? { message: fields.message } : {}),
});

/**
 * A deploy as the client declares it: the parsed fields, under the names that the code uses. If `env`, `min_instances`,
 * `health` or `idle` is absent, the deployment keeps its value. `source` is absent only in a plan and in a redeploy.
 */
export type DeployDeclaration = Readonly<ReturnType<typeof declarationOf>>;

/** The rules of the provider, the account and the platform's settings, which a deploy request must follow. */
export interface DeclareContext {
  readonly capabilities: Capabilities;
  readonly limits?: AccountLimits;
  readonly reserved?: readonly string[];
  /** Additional names that the platform reserves in `env`. */
  readonly envAliases?: EnvAliases;
  /** The issues of the archive. Undefined if the request has no archive. */
  readonly archive?: { readonly issues: readonly Issue[] } | undefined;
  /** True if the request may omit the source, as for a plan. */
  readonly sourceOptional?: boolean;
}

type DeployValues = Partial<Values<typeof deployFields>>;

/** Returns the issues of the source. A request must contain either an archive or an object. */
const sourceIssues = (object: SourceObject | null | undefined, context: DeclareContext): readonly Issue[] => {
  const { archive, sourceOptional = false } = context;
  const path = ["source_archive"];
  if (object && archive) return [issue(path, "send source_archive or source_object, not both", "value_error")];
  if (archive) return archive.issues;
  return object || sourceOptional
    ? []
    : [issue(path, "is required: send the source as a tar.gz file, or name one in source_object", "missing")];
};

const sourceOf = (object: SourceObject | null | undefined, archive: unknown): SourceReference | undefined => {
  if (object) return { kind: "object", ...object };
  return archive === undefined ? undefined : { kind: "archive" };
};

const needs = (wanted: boolean, one: Feature, field: string): Issue[] =>
  wanted && !one.supported ? [issue([field], one.reason, "unsupported")] : [];

/**
 * Returns an issue for each optional field that the provider does not support. The message asks the client to omit it.
 */
const omittableIssues = (valid: DeployValues, capabilities: Capabilities): Issue[] =>
  (["min_instances", "health", "idle"] as const).flatMap((field) => {
    const feature = capabilities[field];
    return valid[field] && !feature.supported
      ? [issue([field], `${feature.reason}; omit ${field}`, "unsupported")]
      : [];
  });

const secretIssues = ({ env }: DeployValues, { secrets }: Capabilities): Issue[] =>
  secrets.supported
    ? []
    : Object.keys(env?.secrets ?? {}).map((name) =>
        issue(["env", name], `${secrets.reason}; set the value instead`, "unsupported"),
      );

const messageIssues = ({ message }: DeployValues, { releases }: Capabilities): Issue[] =>
  message && !releases.supported ? [issue(["message"], `${releases.reason}; omit message`, "unsupported")] : [];

const above = (
  field: string,
  value: number | undefined,
  max: number,
  message: string,
  type: IssueType = "less_than_equal",
): Issue[] => (value !== undefined && value > max ? [issue([field], message, type)] : []);

const sizeIssues = ({ cpu, memory, volumes }: DeployValues, { resources }: Capabilities): Issue[] => {
  const max = { cpu: maxCpu(resources), memory: maxMemory(resources) };
  const issues = [
    ...above("cpu", cpu, max.cpu, `must be at most ${max.cpu} on this provider`),
    ...above("memory", memory, max.memory, `must be at most ${formatMemory(max.memory)} on this provider`),
  ];
  if (issues.length > 0 || cpu === undefined || memory === undefined) return issues;
  const fitted = fitResources({ cpu, memory }, resources);
  const size = `cpu ${cpu} and memory ${formatMemory(memory)}`;
  if (fitted === undefined)
    return [issue(["memory"], `this provider offers no size that fits ${size}; reduce one of them`, "value_error")];
  const least = volumes?.length ? cpuForMounts(fitted.cpu, resources) : undefined;
  return least === undefined
    ? []
    : [
        issue(
          ["cpu"],
          `must be at least ${least} on this provider if the service mounts volumes`,
          "greater_than_equal",
        ),
      ];
};

const instancesIssues = ({ max_instances: value }: DeployValues, context: DeclareContext): Issue[] => {
  const field = "max_instances";
  const { max } = context.capabilities.instances;
  const { instances: quota } = context.limits ?? accountLimits;
  const issues = above(field, value, max, `must be at most ${max} on this provider`);
  return issues.length > 0
    ? issues
    : above(field, value, quota, `your account may run at most ${quota} instances`, "quota_exceeded");
};

const minInstancesIssues = ({ min_instances: value, max_instances: max }: DeployValues, context: DeclareContext) => {
  const effective = effectiveMax(max ?? 0, context.capabilities.instances.preset);
  return max === undefined
    ? []
    : above("min_instances", value, effective, `must be at most max_instances (${effective})`);
};

const nameIssues = (name: string | undefined, reserved: readonly string[]): Issue[] =>
  name !== undefined && reserved.includes(name)
    ? [issue(["function_name"], `'${name}' is reserved; choose another name`, "value_error")]
    : [];

/** Checks the rules that involve several fields, and the rules of the context. */
const deployIssues = (valid: DeployValues, raw: RawFields, context: DeclareContext): readonly Issue[] => {
  const { cron, http2, source_object: sourceObjects, volumes } = context.capabilities;
  return [
    ...nameIssues(valid.function_name, context.reserved ?? reservedNames),
    ...aliasIssues(raw["env"], context.envAliases ?? {}, "env"),
    ...timeZoneConflict(raw["schedule"], raw["timezone"]),
    ...("source_object" in valid ? sourceIssues(valid.source_object, context) : (context.archive?.issues ?? [])),
    ...sizeIssues(valid, context.capabilities),
    ...instancesIssues(valid, context),
    ...minInstancesIssues(valid, context),
    ...needs((valid.volumes?.length ?? 0) > 0, volumes.mounts, "volumes"),
    ...needs(valid.use_http2 === true, http2, "use_http2"),
    ...needs(Boolean(valid.schedule), cron.schedules, "schedule"),
    ...needs(Boolean(valid.source_object), sourceObjects, "source_object"),
    ...omittableIssues(valid, context.capabilities),
    ...secretIssues(valid, context.capabilities),
    ...healthIssues({ health: valid.health, useHttp2: valid.use_http2 }, context.capabilities),
    ...messageIssues(valid, context.capabilities),
  ];
};

/**
 * Validates a deploy request. Returns the declaration, or fails with all rules that the request breaks.
 * @param raw the fields by their wire names, as form text or as JSON values
 */
export const declareDeploy = (raw: RawFields, context: DeclareContext): Result<DeployDeclaration, readonly Issue[]> =>
  parseFields(deployFields, raw, (valid) => {
    const issues = deployIssues(valid, raw, context);
    return issues.length > 0 ? err(issues) : ok({});
  }).map((fields) =>
    declarationOf(fields, String(raw["function_name"]), sourceOf(fields.source_object, context.archive)),
  );
