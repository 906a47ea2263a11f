/** Validates the request of a deploy and normalizes it to a complete declaration. */
import { err, ok, type Result } from "../../result.ts";
import { type AccountLimits, accountLimits } from "../accounts/limits.ts";
import { scheduleOf, timeZoneConflict } from "../schedules/schedule.ts";
import type { Capabilities, Feature } from "../wire/capabilities.ts";
import { parseFields, type RawFields, type Values } from "../wire/fields.ts";
import { type Issue, type IssueType, issue } from "../wire/issue.ts";
import { reservedNames } from "../wire/names.ts";
import { aliasIssues, type EnvAliases } from "./environment.ts";
import { deployFields, type SourceObject } from "./fields.ts";
import { fitResources, formatMemory, maxCpu, maxMemory } from "./resources.ts";

/** The origin of the source: an archive in the request, or an object of a volume. */
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
  /** 0 means the platform's own limit. */
  maxInstances: fields.max_instances,
  sessionAffinity: fields.session_affinity,
  useHttp2: fields.use_http2,
  mounts: fields.volumes,
  schedule: scheduleOf(fields.schedule, fields.timezone),
  ...(fields.env === undefined ? {} : { env: fields.env }),
  ...(source === undefined ? {} : { source }),
});

/**
 * A deploy as the client declares it: the parsed fields, with the names of the domain. An absent `env` keeps the environment
 * of the deployment. `source` is absent only in a plan.
 */
export type DeployDeclaration = Readonly<ReturnType<typeof declarationOf>>;

export interface DeclareContext {
  readonly capabilities: Capabilities;
  readonly limits?: AccountLimits;
  readonly reserved?: readonly string[];
  /** Additional names that the platform reserves in `env`. */
  readonly envAliases?: EnvAliases;
  /** Issues found while the archive was received; undefined if the request has no archive. */
  readonly archive?: { readonly issues: readonly Issue[] } | undefined;
  /** A plan needs no source. */
  readonly sourceOptional?: boolean;
}

type DeployValues = Partial<Values<typeof deployFields>>;

/** Returns the issues of the source. Exactly one of an archive and an object must be sent. */
const sourceIssues = (object: SourceObject | null | undefined, context: DeclareContext): readonly Issue[] => {
  const { archive, sourceOptional = false } = context;
  const path = ["source_archive"];
  if (object && archive) return [issue(path, "send source_archive or source_object, not both", "value_error")];
  if (archive) return archive.issues;
  return object || sourceOptional
    ? []
    : [issue(path, "is required: the source as a tar.gz file (or name one with source_object)", "missing")];
};

const sourceOf = (object: SourceObject | null | undefined, archive: unknown): SourceReference | undefined => {
  if (object) return { kind: "object", ...object };
  return archive === undefined ? undefined : { kind: "archive" };
};

const needs = (wanted: boolean, one: Feature, field: string): Issue[] =>
  wanted && !one.supported ? [issue([field], one.reason, "unsupported")] : [];

const atMost = (
  field: string,
  value: number,
  most: number,
  said: string,
  type: IssueType = "less_than_equal",
): Issue[] => (value > most ? [issue([field], said, type)] : []);

/** Returns issues for limits of this provider or account that are stricter than the contract. */
const providerIssues = (values: DeployValues, context: DeclareContext): Issue[] => {
  const { resources, volumes, instances } = context.capabilities;
  const { cpu, memory, max_instances: maxInstances } = values;
  const issues: Issue[] = [];
  const mostCpu = maxCpu(resources);
  const mostMemory = maxMemory(resources);
  if (cpu !== undefined) issues.push(...atMost("cpu", cpu, mostCpu, `at most ${mostCpu} on this provider`));
  if (memory !== undefined)
    issues.push(...atMost("memory", memory, mostMemory, `at most ${formatMemory(mostMemory)} on this provider`));
  if (cpu !== undefined && memory !== undefined && cpu <= mostCpu && memory <= mostMemory)
    if (fitResources({ cpu, memory }, resources) === undefined)
      issues.push(
        issue(["memory"], `this provider has no size with ${cpu} CPU and ${formatMemory(memory)}`, "value_error"),
      );
  if (maxInstances !== undefined) {
    const account = (context.limits ?? accountLimits).instances;
    issues.push(...atMost("max_instances", maxInstances, instances.max, `at most ${instances.max} on this provider`));
    if (maxInstances <= instances.max)
      issues.push(
        ...atMost(
          "max_instances",
          maxInstances,
          account,
          `your account may run ${account} instances`,
          "quota_exceeded",
        ),
      );
  }
  issues.push(...needs((values.volumes?.length ?? 0) > 0, volumes.mounts, "volumes"));
  issues.push(...needs(values.use_http2 === true, context.capabilities.http2, "use_http2"));
  return issues;
};

const nameIssues = (name: string | undefined, reserved: readonly string[]): Issue[] =>
  name !== undefined && reserved.includes(name)
    ? [issue(["function_name"], `'${name}' is reserved; choose another name`, "value_error")]
    : [];

/** The rules across fields, and those of this provider, account and installation. */
const deployIssues = (valid: DeployValues, raw: RawFields, context: DeclareContext): readonly Issue[] => {
  const { cron, source_object: sourceObjects } = context.capabilities;
  return [
    ...nameIssues(valid.function_name, context.reserved ?? reservedNames),
    ...aliasIssues(raw["env"], context.envAliases ?? {}),
    ...timeZoneConflict(raw["schedule"], raw["timezone"]),
    ...("source_object" in valid ? sourceIssues(valid.source_object, context) : (context.archive?.issues ?? [])),
    ...providerIssues(valid, context),
    ...needs(Boolean(valid.schedule), cron.schedules, "schedule"),
    ...needs(Boolean(valid.source_object), sourceObjects, "source_object"),
  ];
};

/**
 * Validates a deploy request. Returns the declaration, or fails with all rules that it breaks.
 * @param raw the fields by their wire names, as form text or as JSON values
 */
export const declareDeploy = (raw: RawFields, context: DeclareContext): Result<DeployDeclaration, readonly Issue[]> =>
  parseFields(deployFields, raw, (valid) => {
    const issues = deployIssues(valid, raw, context);
    return issues.length > 0 ? err(issues) : ok({});
  }).map((fields) =>
    declarationOf(fields, String(raw["function_name"]), sourceOf(fields.source_object, context.archive)),
  );
