/**
 * A deployed service, independent of any provider. Each adapter converts templates to documents of its platform, and
 * must convert them back without loss, because templates are the only record of owners and mounted volumes.
 */
import type { AccountId } from "../accounts/account.ts";
import type { LastFire } from "../schedules/fire-policy.ts";
import type { Schedule } from "../schedules/schedule.ts";
import type { PinnedSecrets } from "../secrets/references.ts";
import { type BoundMount, type Mount, renderMounts } from "../volumes/mounts.ts";
import type { Timestamp } from "../wire/instant.ts";
import type { DeploymentName } from "../wire/names.ts";
import type { EnvAliases, Environment } from "./environment.ts";
import type { DeployOutcome } from "./events.ts";
import type { HealthCheck } from "./health.ts";
import type { IdleMode } from "./idle.ts";
import type { DeployReason } from "./reason.ts";
import { formatMemory } from "./resources.ts";

/** The declared fields of a service, without its name. */
export interface Declared {
  readonly port: number;
  /** Bytes. */
  readonly memory: number;
  readonly cpu: number;
  /** Seconds. */
  readonly timeout: number;
  readonly concurrency: number;
  /** 0 means the platform's default. */
  readonly maxInstances: number;
  readonly sessionAffinity: boolean;
  readonly useHttp2: boolean;
  readonly mounts: readonly Mount[];
  readonly schedule: Schedule | null;
  readonly env: Environment;
  /** The variables that have the value of a secret. Absent if the service uses no secrets. */
  readonly secrets?: PinnedSecrets;
  /** The number of instances that run even without requests. Absent: 0. */
  readonly minInstances?: number;
  /** Absent: an instance is healthy when it accepts connections. */
  readonly health?: HealthCheck;
  /** Absent: the platform's default. */
  readonly idle?: IdleMode;
}

/** The declaration of a service after all adjustments. */
export interface ServiceSpec extends Declared {
  readonly name: DeploymentName;
  readonly owner: AccountId;
}

/** The environment of a service. */
export type Variables = Pick<Declared, "env" | "secrets">;

/** Returns the names of all variables, sorted. */
export const variableNames = ({ env, secrets }: Variables): string[] =>
  [...Object.keys(env), ...(secrets === undefined ? [] : Object.keys(secrets))].sort();

/** The declared fields except the environment. `health` and `idle` may be null, as in a declaration. */
export interface WritableFields extends Omit<Declared, "env" | "secrets" | "health" | "idle"> {
  readonly health?: HealthCheck | null;
  readonly idle?: IdleMode | null;
}

/** Returns the fields in their wire format. Omits the environment, because its values are secrets. */
export const writtenFields = (declared: WritableFields) => ({
  port: declared.port,
  memory: formatMemory(declared.memory),
  cpu: declared.cpu,
  timeout: declared.timeout,
  concurrency: declared.concurrency,
  max_instances: declared.maxInstances,
  min_instances: declared.minInstances ?? 0,
  session_affinity: declared.sessionAffinity,
  use_http2: declared.useHttp2,
  volumes: renderMounts(declared.mounts),
  schedule: declared.schedule,
  health: declared.health ?? null,
  idle: declared.idle ?? null,
});

/** Everything that a platform needs to run a revision of a service. */
export interface ServiceTemplate extends ServiceSpec {
  readonly mounts: readonly BoundMount[];
  /** The secret that authenticates scheduled requests to the service. Later deploys keep it. */
  readonly cronToken: string;
  /** Aliases under which the service also sees platform variables. Not part of `env`. */
  readonly envAliases?: EnvAliases;
  /** The image reference that the builder returned. */
  readonly image: string;
  /** The deploy that created the template. */
  readonly deployId: string;
}

/** A template that was rolled out. */
export interface Revision {
  readonly id: string;
  readonly template: ServiceTemplate;
}

/** A deployment as its platform stores it. */
export interface Service {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  /** Changes with every rollout. A conditional write contains the ETag that its caller has read. */
  readonly etag: string;
  /** Revisions that receive traffic, newest first. */
  readonly serving: readonly Revision[];
  /** The template of the current rollout, if any. */
  readonly rollingOut: ServiceTemplate | null;
  /** The last attempted template, shown if no revision serves. */
  readonly attempted: ServiceTemplate;
  readonly url: string;
  readonly region: string;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
  readonly lastDeploy: DeployOutcome | null;
  /** Why the serving revision cannot start instances, such as `image_not_found`. Absent if no reason is known. */
  readonly broken?: DeployReason;
  /** The latest fire of the schedule; null before the first. Absent if the platform does not record fires. */
  readonly lastFire?: LastFire | null;
}

/** `READY`: a revision serves. `DEPLOYING`: a rollout runs. `FAILED`: no revision can serve. */
export type ServiceStatus = "READY" | "DEPLOYING" | "FAILED";

/** Returns the status of a service. A running rollout takes precedence. */
export const statusOf = (service: Service): ServiceStatus =>
  service.rollingOut !== null
    ? "DEPLOYING"
    : service.serving.length > 0 && service.broken === undefined
      ? "READY"
      : "FAILED";

/** Returns the template that clients see: the serving one, or else the last attempted one. */
export const shownTemplate = (service: Service): ServiceTemplate => service.serving[0]?.template ?? service.attempted;
