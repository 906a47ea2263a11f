/**
 * Computes the plan of a deploy: the changes that a declaration would make. Pure.
 *
 * The deploy itself, `POST /v1/deploy/plan` and embedders use the same function.
 */
import type { AccountId } from "../accounts/account.ts";
import type { PinnedSecrets } from "../secrets/references.ts";
import { describePrice, type InstancePrices, priceOfMinimum } from "../usage/instance-price.ts";
import type { Capabilities, Feature } from "../wire/capabilities.ts";
import type { VolumeName } from "../wire/names.ts";
import type { DeployDeclaration } from "./declaration.ts";
import { explainHealth, fitHealth } from "./health.ts";
import { describeMinimum, effectiveMax, explainMinimum } from "./instances.ts";
import { type Adjustment, explainConcurrency, explainFit, fitConcurrency, fitResources } from "./resources.ts";
import {
  type Service,
  type ServiceSpec,
  shownTemplate,
  type Variables,
  variableNames,
  type WritableFields,
  writtenFields,
} from "./service-template.ts";

/** The state of the service that a conditional write requires. */
export type Expected = "absent" | { readonly etag: string; readonly owner: AccountId };

/** A field that would change. Values are in their wire format, without secrets. */
export interface Change {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** A volume that the new service mounts. */
export interface PlannedVolume {
  readonly name: VolumeName;
  /** The id of its bucket, or null if the deploy must create the volume. */
  readonly id: string | null;
}

/** The change to the schedule: set it, remove it, or neither. */
export type ScheduleStep = "put" | "remove" | "none";

/** The changes that a deploy would make. See `planDeploy`. */
export interface DeployPlan {
  readonly action: "create" | "update";
  readonly spec: ServiceSpec;
  readonly expected: Expected;
  /** The cron token of the current service; undefined if no service exists. */
  readonly cronToken: string | undefined;
  /** All mounted volumes without duplicates, sorted by name. */
  readonly volumes: readonly PlannedVolume[];
  /** Mounted volumes that do not exist, without duplicates, sorted by name. */
  readonly volumesToCreate: readonly string[];
  /** Volumes that only the current service mounts. They keep their data. */
  readonly volumesDetached: readonly string[];
  readonly schedule: ScheduleStep;
  readonly changes: readonly Change[];
  readonly adjustments: readonly Adjustment[];
  /** Sentences about declared fields that this provider does not enforce. */
  readonly notEnforced: readonly string[];
  /** A sentence that explains why the service does not scale to zero; undefined if the service scales to zero. */
  readonly idleInstance: string | undefined;
}

const sameValue = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns all variables, each with its value or its reference to a secret. */
const variablesOf = ({ env, secrets = {} }: Variables) =>
  new Map<string, unknown>([...Object.entries(env), ...Object.entries(secrets)]);

/** Returns the variables whose value or reference differs, sorted. */
export const changedVariables = (from: Variables, to: Variables): string[] => {
  const [before, after] = [variablesOf(from), variablesOf(to)];
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => !sameValue(before.get(name), after.get(name))).sort();
};

const changedEnv = (from: ServiceSpec, to: ServiceSpec): Change[] =>
  changedVariables(from, to).length === 0 ? [] : [{ field: "env", from: variableNames(from), to: variableNames(to) }];

/** Returns the fields that differ, except the environment. */
export const changedFields = (from: WritableFields, to: WritableFields): Change[] => {
  const before: Readonly<Record<string, unknown>> = writtenFields(from);
  const after: Readonly<Record<string, unknown>> = writtenFields(to);
  const fields = Object.keys(after).filter((field) => !sameValue(before[field], after[field]));
  return fields.map((field) => ({ field, from: before[field], to: after[field] }));
};

const changesBetween = (from: ServiceSpec, to: ServiceSpec): Change[] => [
  ...changedFields(from, to),
  ...changedEnv(from, to),
];

const takesVariables = ({ from, to }: Change): boolean =>
  (from as readonly string[]).some((name) => !(to as readonly string[]).includes(name));

/** Fields that keep their values if a deploy omits them. A change to one of them is therefore intentional. */
const keptIfOmitted: readonly string[] = ["min_instances", "health", "idle"];

/**
 * Returns the changes that reset earlier settings of the deployment. Omits intentional changes: those to fields that
 * keep their value if omitted, and a change to the environment that removes no variable.
 */
export const resetsOf = (changes: readonly Change[]): Change[] =>
  changes.filter(
    (change) => !keptIfOmitted.includes(change.field) && (change.field !== "env" || takesVariables(change)),
  );

/** Formats a value for a sentence. */
export const formatValue = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const volumesOf = (spec: ServiceSpec | undefined): VolumeName[] =>
  [...new Set((spec?.mounts ?? []).map((mount) => mount.volume))].sort();

const notEnforced = (spec: ServiceSpec, capabilities: Capabilities): string[] => {
  const limits: [boolean, string, Feature][] = [
    [true, "memory", capabilities.memory_limit],
    [true, "cpu", capabilities.cpu_limit],
    [true, "concurrency", capabilities.concurrency_cap],
    [true, "timeout", capabilities.request_timeout],
    [spec.sessionAffinity, "session_affinity", capabilities.session_affinity],
    [spec.mounts.some((mount) => mount.readOnly), "read_only in volumes", capabilities.volumes.read_only],
  ];
  return limits.flatMap(([wanted, field, one]) =>
    wanted && !one.supported ? [`${field} is not enforced: ${one.reason}`] : [],
  );
};

const idleInstance = ({ scale_to_zero: feature }: Capabilities): string | undefined =>
  feature.supported ? undefined : `Does not scale to zero: ${feature.reason}`;

const scheduleStep = (current: ServiceSpec | undefined, spec: ServiceSpec): ScheduleStep =>
  spec.schedule !== null ? "put" : current !== undefined && current.schedule !== null ? "remove" : "none";

/**
 * Plans a deploy of `declaration`.
 * @param owner the account that deploys; the caller must have checked that the account owns `current`
 * @param current the service under the name, or null
 * @param volumes all volumes of the account
 * @param ruled the adjustments that policies made to the declaration
 * @param secrets the pinned references to secrets
 */
export const planDeploy = (
  owner: AccountId,
  declaration: DeployDeclaration,
  current: Service | null,
  capabilities: Capabilities,
  volumes: readonly { readonly name: VolumeName; readonly id: string }[],
  ruled: readonly Adjustment[] = [],
  secrets: PinnedSecrets = {},
): DeployPlan => {
  const wanted = { cpu: declaration.cpu, memory: declaration.memory };
  // `declareDeploy` has rejected declarations that fit no size of the provider.
  const fitted = fitResources(wanted, capabilities.resources) ?? wanted;
  const present = current === null ? undefined : shownTemplate(current);
  const {
    writtenName: _writtenName,
    source: _source,
    message: _message,
    secretReferences: _references,
    minInstances: declaredMin,
    health: declaredHealth,
    idle: declaredIdle,
    ...declared
  } = declaration;
  const keptMin = declaredMin ?? present?.minInstances ?? 0;
  const minInstances = Math.min(keptMin, effectiveMax(declaration.maxInstances, capabilities.instances.preset));
  const keptHealth = declaredHealth === undefined ? present?.health : declaredHealth;
  const health = keptHealth && fitHealth(keptHealth, capabilities);
  const concurrency = fitConcurrency(declaration.concurrency, fitted.cpu, capabilities.resources);
  const idle = declaredIdle === undefined ? present?.idle : declaredIdle;
  const spec: ServiceSpec = {
    ...declared,
    ...fitted,
    concurrency,
    owner,
    env: declaration.env ?? present?.env ?? {},
    ...(Object.keys(secrets).length > 0 ? { secrets } : {}),
    ...(minInstances > 0 ? { minInstances } : {}),
    ...(health ? { health } : {}),
    ...(idle ? { idle } : {}),
  };
  const mounted = volumesOf(spec);
  const planned = mounted.map((name) => ({ name, id: volumes.find((one) => one.name === name)?.id ?? null }));
  return {
    action: current === null ? "create" : "update",
    spec,
    expected: current === null ? "absent" : { etag: current.etag, owner: current.owner },
    cronToken: present?.cronToken || undefined,
    volumes: planned,
    volumesToCreate: planned.filter(({ id }) => id === null).map(({ name }) => name),
    volumesDetached: volumesOf(present).filter((name) => !mounted.includes(name)),
    schedule: scheduleStep(present, spec),
    changes: present === undefined ? [] : changesBetween(present, spec),
    adjustments: [
      ...ruled,
      ...explainFit(wanted, fitted, capabilities.resources),
      ...explainConcurrency(declaration.concurrency, concurrency, fitted.cpu),
      ...(keptHealth && health ? explainHealth(keptHealth, health, capabilities) : []),
      ...explainMinimum(keptMin, minInstances),
    ],
    notEnforced: notEnforced(spec, capabilities),
    idleInstance: idleInstance(capabilities),
  };
};

/** Returns the plan as sentences. `prices` are the platform's prices; without them, no sentence states a price. */
export const describePlan = (plan: DeployPlan, prices?: InstancePrices): string[] => {
  const { name } = plan.spec;
  return [
    plan.action === "create" ? `Create '${name}'` : `Update '${name}'`,
    ...plan.adjustments.map((one) => one.message),
    ...plan.changes.map((one) => `Replace ${one.field}: ${formatValue(one.from)} → ${formatValue(one.to)}`),
    ...plan.volumesToCreate.map((volume) => `Create volume '${volume}'`),
    ...plan.volumesDetached.map((volume) => `Detach volume '${volume}'; its data is kept`),
    ...describeSchedule(plan),
    ...describeMinimum(plan.spec),
    ...describePrice(priceOfMinimum(prices, plan.spec)),
    ...plan.notEnforced,
    ...(plan.idleInstance === undefined ? [] : [plan.idleInstance]),
  ];
};

/** Returns messages about the schedule, for the plan and for the stream. */
export const describeSchedule = (plan: DeployPlan): string[] => {
  const { schedule } = plan.spec;
  if (schedule !== null) return [`Scheduled: ${schedule.cron} (${schedule.timezone})`];
  return plan.schedule === "remove" ? ["Schedule removed"] : [];
};
