/** A deployment as clients see it: one row of `GET /v1/deployment/list`. */
import { z } from "zod";
import type { LastFire } from "../schedules/fire-policy.ts";
import type { Timestamp } from "../wire/instant.ts";
import { healthCheckSchema } from "./health.ts";
import { idleModes } from "./idle.ts";
import { type DeployReason, deployReasonSchema } from "./reason.ts";
import {
  type Service,
  type ServiceSpec,
  shownTemplate,
  statusOf,
  variableNames,
  writtenFields,
} from "./service-template.ts";

const time = z.string().meta({ format: "date-time" });

/** The schema of the latest fire of a schedule. */
export const lastFireSchema = z.object({
  fire_id: z
    .string()
    .nullable()
    .meta({ description: "The id of a run that a client requested; null for a scheduled one." }),
  at: time.meta({ description: "The scheduled time." }),
  status: z.int().nullable().meta({ description: "The status of the service's response; null if it did not respond." }),
  attempts: z.int().meta({ description: "The number of attempts, including the first." }),
});

/** The schema of the last deploy of a deployment. */
export const lastDeploySchema = z.object({
  deploy_id: z.string(),
  status: z.enum(["BUILDING", "DEPLOYING", "DONE", "ERROR"]),
  reason: deployReasonSchema.nullable(),
  finished_at: time.nullable().meta({ description: "When the deploy ended; null while it runs." }),
});

/** The schema of a deployment in `GET /v1/deployment/list`. */
export const deploymentSchema = z
  .object({
    name: z.string().meta({ description: "The deployment's name." }),
    function_name: z.string().meta({ description: "The same as `name`." }),
    url: z.string().meta({ description: "Empty while the first build runs." }),
    region: z.string().meta({ description: "The region of the provider." }),
    status: z.enum(["READY", "DEPLOYING", "FAILED"]).meta({
      description:
        "READY: a revision serves. DEPLOYING: a rollout or the first build runs. FAILED: no revision can serve.",
    }),
    revision: z.string().nullable().meta({ description: "The revision that serves; null if none does." }),
    created_at: time,
    updated_at: time,
    port: z.int().meta({ description: "The port on which the service listens." }),
    memory: z.string().meta({ description: "Memory of an instance, such as `1Gi`, after adjustments." }),
    cpu: z.number().meta({ description: "The CPUs of an instance, after adjustments." }),
    timeout: z.int().meta({ description: "The time limit of a request, in seconds." }),
    concurrency: z.int().meta({ description: "The maximum number of concurrent requests per instance." }),
    max_instances: z.int().meta({ description: "The maximum number of instances; 0 means the platform's default." }),
    min_instances: z.int().meta({ description: "The number of instances that run even without requests." }),
    session_affinity: z.boolean().meta({ description: "True if requests from one client go to the same instance." }),
    use_http2: z.boolean().meta({ description: "True if the service receives HTTP/2 (h2c)." }),
    volumes: z.record(
      z.string(),
      z.object({ name: z.string(), read_only: z.boolean(), sub_path: z.string().optional() }),
    ),
    schedule: z.object({ cron: z.string(), timezone: z.string() }).nullable(),
    cron: z
      .object({
        last: lastFireSchema.nullable().meta({ description: "The latest run; null before the first." }),
      })
      .optional()
      .meta({ description: "Present if the deployment has a schedule and the platform records its runs." }),
    env: z.array(z.string()).meta({ description: "The names of the variables. The API never returns their values." }),
    health: healthCheckSchema
      .nullable()
      .meta({ description: "The health check, with times in seconds; null if the service has none." }),
    idle: z
      .enum(idleModes)
      .nullable()
      .meta({ description: "How the platform treats an idle instance; null means the platform's default." }),
    last_deploy: lastDeploySchema.nullable(),
  })
  .readonly();

/** A deployment as clients see it. */
export type Deployment = z.output<typeof deploymentSchema>;

/** The fields of a deployment that its declaration does not determine. */
type Status = Pick<
  Deployment,
  "url" | "region" | "status" | "revision" | "created_at" | "updated_at" | "cron" | "last_deploy"
>;

/** Names each field, because object spread is much slower and would dominate the time to build a long list. */
const rowOf = (spec: ServiceSpec, status: Status): Deployment => {
  const written = writtenFields(spec);
  return {
    name: spec.name,
    function_name: spec.name,
    url: status.url,
    region: status.region,
    status: status.status,
    revision: status.revision,
    created_at: status.created_at,
    updated_at: status.updated_at,
    port: written.port,
    memory: written.memory,
    cpu: written.cpu,
    timeout: written.timeout,
    concurrency: written.concurrency,
    max_instances: written.max_instances,
    min_instances: written.min_instances,
    session_affinity: written.session_affinity,
    use_http2: written.use_http2,
    volumes: written.volumes,
    schedule: written.schedule,
    env: variableNames(spec),
    health: written.health,
    idle: written.idle,
    ...(status.cron === undefined ? {} : { cron: status.cron }),
    last_deploy: status.last_deploy,
  };
};

const lastFireOf = ({ fireId, at, status, attempts }: LastFire): z.output<typeof lastFireSchema> => ({
  fire_id: fireId ?? null,
  at,
  status,
  attempts,
});

/**
 * Returns why the service broke after its last deploy succeeded. Clients see this reason as the outcome of that deploy.
 * Returns undefined if the service is not broken, or if the deploy itself failed.
 */
export const brokenReasonOf = ({ lastDeploy, broken }: Service): DeployReason | undefined =>
  lastDeploy?.status === "DONE" ? broken : undefined;

const lastDeployOf = (service: Service): Deployment["last_deploy"] => {
  const { lastDeploy: last } = service;
  if (last === null) return null;
  const broken = brokenReasonOf(service);
  return {
    deploy_id: last.deployId,
    status: broken === undefined ? last.status : "ERROR",
    reason: broken ?? last.reason,
    finished_at: last.finishedAt,
  };
};

/** Converts a service to its client view. The fields are those of the serving revision, or else of the last attempt. */
export const deploymentOf = (service: Service): Deployment => {
  const template = shownTemplate(service);
  const { lastFire } = service;
  return rowOf(template, {
    url: service.url,
    region: service.region,
    status: statusOf(service),
    revision: service.serving[0]?.id ?? null,
    created_at: service.createdAt,
    updated_at: service.updatedAt,
    cron: template.schedule === null || lastFire === undefined ? undefined : { last: lastFire && lastFireOf(lastFire) },
    last_deploy: lastDeployOf(service),
  });
};

/** The running first deploy of a deployment, which the platform does not store yet. */
export interface FirstDeploy {
  readonly spec: ServiceSpec;
  readonly deployId: string;
  readonly region: string;
  readonly beganAt: Timestamp;
}

/**
 * Returns the client view of a deployment during its first build: the URL is empty, and `last_deploy` is `BUILDING`.
 */
export const firstDeploymentOf = ({ spec, deployId, region, beganAt }: FirstDeploy): Deployment =>
  rowOf(spec, {
    url: "",
    region,
    status: "DEPLOYING",
    revision: null,
    created_at: beganAt,
    updated_at: beganAt,
    last_deploy: { deploy_id: deployId, status: "BUILDING", reason: null, finished_at: null },
  });
