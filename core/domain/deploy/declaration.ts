/**
 * A deploy as the client declares it: complete, validated and normalized.
 */

import { err, ok, type Result } from "../../result.ts";
import { type AccountLimits, accountLimits } from "../accounts/limits.ts";
import { readSchedule, type Schedule } from "../schedules/schedule.ts";
import type { Mount } from "../volumes/mounts.ts";
import { type ObjectPath, objectPathProblem } from "../volumes/object-path.ts";
import type { Capabilities, Feature } from "../wire/capabilities.ts";
import { parseChecked, type RawFields, type Values } from "../wire/fields.ts";
import { type Issue, type IssueType, issue } from "../wire/issue.ts";
import { type DeploymentName, reservedNames, type VolumeName } from "../wire/names.ts";
import { aliasIssues, type EnvAliases, type Environment } from "./environment.ts";
import { deployFields } from "./fields.ts";
import { fitResources, formatMemory, maxCpu, maxMemory } from "./resources.ts";

/** The origin of the source: an archive in the request, or an object of a volume. */
export type SourceReference =
  | { readonly kind: "archive" }
  | { readonly kind: "object"; readonly volume: VolumeName; readonly path: ObjectPath };

export interface DeployDeclaration {
  readonly name: DeploymentName;
  /** The name as the client wrote it. */
  readonly writtenName: string;
  readonly port: number;
  /** Bytes. */
  readonly memory: number;
  readonly cpu: number;
  /** Seconds. */
  readonly timeout: number;
  readonly concurrency: number;
  /** 0 means the platform's own limit. */
  readonly maxInstances: number;
  readonly sessionAffinity: boolean;
  readonly useHttp2: boolean;
  readonly mounts: readonly Mount[];
  readonly schedule: Schedule | null;
  /** Absent keeps the environment of the deployment. */
  readonly env?: Environment;
  /** Absent only in a plan. */
  readonly source?: SourceReference;
}

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

const readSource = (raw: unknown, context: DeclareContext): { source?: SourceReference; issues: readonly Issue[] } => {
  const object = typeof raw === "string" && raw !== "" && raw !== "null" ? raw : undefined;
  const sent = context.archive;
  const path = ["source_archive"];
  if (object !== undefined && sent !== undefined)
    return { issues: [issue(path, "send source_archive or source_object, not both", "value_error")] };
  if (sent !== undefined) return { source: { kind: "archive" }, issues: sent.issues };
  if (object === undefined)
    return context.sourceOptional
      ? { issues: [] }
      : {
          issues: [issue(path, "is required: the source as a tar.gz file (or name one with source_object)", "missing")],
        };
  const slash = object.indexOf("/");
  if (slash < 1 || slash === object.length - 1)
    return {
      issues: [issue(["source_object"], "must be VOLUME/PATH, such as 'my-volume/source.tar.gz'", "value_error")],
    };
  const inside = object.slice(slash + 1);
  const problem = objectPathProblem(inside);
  if (problem !== undefined) return { issues: [issue(["source_object"], problem, "value_error")] };
  const volume = object.slice(0, slash) as VolumeName;
  return { source: { kind: "object", volume, path: inside as ObjectPath }, issues: [] };
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

interface Checked {
  readonly declaredSchedule: Schedule | null;
  readonly source: SourceReference | undefined;
}

/** The rules across fields, and those of this provider, account and installation. */
const checkDeploy = (
  valid: DeployValues,
  raw: RawFields,
  context: DeclareContext,
): Result<Checked, readonly Issue[]> => {
  const schedule = readSchedule(raw["schedule"], raw["timezone"]);
  const { source, issues: sourceIssues } = readSource(raw["source_object"], context);
  const issues = [
    ...nameIssues(valid.function_name, context.reserved ?? reservedNames),
    ...aliasIssues(raw["env"], context.envAliases ?? {}),
    ...schedule.issues,
    ...sourceIssues,
    ...providerIssues(valid, context),
    ...needs(Boolean(schedule.value), context.capabilities.cron.schedules, "schedule"),
    ...needs(source?.kind === "object", context.capabilities.source_object, "source_object"),
  ];
  return issues.length > 0 ? err(issues) : ok({ declaredSchedule: schedule.value ?? null, source });
};

/**
 * Validates a deploy request. Returns the declaration, or fails with all rules that it breaks.
 * @param raw the fields by their wire names, as form text or as JSON values
 */
export const declareDeploy = (raw: RawFields, context: DeclareContext): Result<DeployDeclaration, readonly Issue[]> =>
  parseChecked(deployFields, raw, (valid) => checkDeploy(valid, raw, context)).map((fields) => ({
    name: fields.function_name,
    writtenName: String(raw["function_name"]),
    port: fields.port,
    memory: fields.memory,
    cpu: fields.cpu,
    timeout: fields.timeout,
    concurrency: fields.concurrency,
    maxInstances: fields.max_instances,
    sessionAffinity: fields.session_affinity,
    useHttp2: fields.use_http2,
    mounts: fields.volumes,
    schedule: fields.declaredSchedule,
    ...(fields.env === undefined ? {} : { env: fields.env }),
    ...(fields.source === undefined ? {} : { source: fields.source }),
  }));
