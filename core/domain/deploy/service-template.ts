/**
 * What a deployed service is, independent of any provider. Every adapter renders a template into its
 * own document and parses it back; the two are inverse, because the templates of running services are
 * the only record of who owns what and which volumes are mounted.
 */
import type { AccountId } from "../accounts/account.ts";
import type { LastFire } from "../schedules/fire-policy.ts";
import type { Schedule } from "../schedules/schedule.ts";
import { type BoundMount, type Mount, renderMounts } from "../volumes/mounts.ts";
import type { Timestamp } from "../wire/instant.ts";
import type { DeploymentName } from "../wire/names.ts";
import type { EnvAliases, Environment } from "./environment.ts";
import type { DeployOutcome } from "./events.ts";
import type { DeployReason } from "./reason.ts";
import { formatMemory } from "./resources.ts";

/** What is declared of a service besides its name. */
export interface Declared {
  readonly port: number;
  /** Bytes. */
  readonly memory: number;
  readonly cpu: number;
  /** Seconds. */
  readonly timeout: number;
  readonly concurrency: number;
  /** 0: the platform's own limit. */
  readonly maxInstances: number;
  readonly sessionAffinity: boolean;
  readonly useHttp2: boolean;
  readonly mounts: readonly Mount[];
  readonly schedule: Schedule | null;
  readonly env: Environment;
}

/** The declared part: what a deploy asks for, after every raise. */
export interface ServiceSpec extends Declared {
  readonly name: DeploymentName;
  readonly owner: AccountId;
}

/** Its fields as the wire writes them; the environment is left out, for its values are secrets. */
export const writtenFields = (declared: Omit<Declared, "env">): Readonly<Record<string, unknown>> => ({
  port: declared.port,
  memory: formatMemory(declared.memory),
  cpu: declared.cpu,
  timeout: declared.timeout,
  concurrency: declared.concurrency,
  max_instances: declared.maxInstances,
  session_affinity: declared.sessionAffinity,
  use_http2: declared.useHttp2,
  volumes: renderMounts(declared.mounts),
  schedule: declared.schedule,
});

export interface ServiceTemplate extends ServiceSpec {
  readonly mounts: readonly BoundMount[];
  /** What the clock shows the service to prove that a fire is one; the same in every deploy of a deployment. */
  readonly cronToken: string;
  /** Names under which the service sees variables of the platform as well; no part of `env`. */
  readonly envAliases?: EnvAliases;
  /** The image reference that the builder returned. */
  readonly image: string;
  /** The deploy that made it. */
  readonly deployId: string;
}

/** A template that was rolled out. */
export interface Revision {
  readonly id: string;
  readonly template: ServiceTemplate;
}

/** One deployment as its platform knows it. */
export interface Service {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  /** Changes with every write; a conditional write names the one it saw. */
  readonly etag: string;
  /** Revisions that get traffic, newest first; empty where nothing serves. */
  readonly serving: readonly Revision[];
  /** The template that is being rolled out, if any. */
  readonly rollingOut: ServiceTemplate | null;
  /** The template of the last attempt, shown where nothing serves. */
  readonly attempted: ServiceTemplate;
  readonly url: string;
  readonly region: string;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
  readonly lastDeploy: DeployOutcome | null;
  /** Why no instance of what serves can start, if the platform knows; for example, its image is gone. */
  readonly broken?: DeployReason;
  /** The latest fire of its schedule; null before the first. Absent if the platform does not know it. */
  readonly lastFire?: LastFire | null;
}

export type ServiceStatus = "READY" | "DEPLOYING" | "FAILED";

export const statusOf = (service: Service): ServiceStatus =>
  service.rollingOut !== null
    ? "DEPLOYING"
    : service.serving.length > 0 && service.broken === undefined
      ? "READY"
      : "FAILED";

/** The template that a client is shown: what serves, else the last attempt. */
export const shownTemplate = (service: Service): ServiceTemplate => service.serving[0]?.template ?? service.attempted;
