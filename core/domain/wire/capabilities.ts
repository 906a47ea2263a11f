/**
 * The features that a provider supports or lacks, as data with reasons.
 *
 * Capabilities decide which cases of the contract suites apply, which fields of a deploy fail with 422, and which
 * endpoints fail with 501. `GET /v1/capabilities` returns them, and the matrix in the docs is generated from them.
 */
import { z } from "zod";
import { type ControlPlaneError, unsupported } from "../../errors.ts";
import type { DeployLimits } from "../accounts/limits.ts";

const offeredSchema = z.object({ supported: z.literal(true), note: z.string().optional() });
const missingSchema = z.object({ supported: z.literal(false), reason: z.string() });
const feature = z.discriminatedUnion("supported", [offeredSchema, missingSchema]);

const range = z.object({ min: z.int(), max: z.int() });

const healthFeature = z.discriminatedUnion("supported", [
  offeredSchema.extend({
    ranges: z
      .object({
        interval: range,
        timeout: range,
        failures: range,
        interval_margin: z
          .int()
          .exactOptional()
          .meta({ description: "The minimum seconds by which `interval` must exceed `timeout`. Absent: 0." }),
      })
      .exactOptional()
      .meta({
        description: "The provider's ranges, to which values are adjusted. Absent: every valid value is supported.",
      }),
    http1_only: z
      .boolean()
      .exactOptional()
      .meta({ description: "If true, a service with `use_http2` cannot have a health check." }),
    host: feature.exactOptional().meta({ description: "A check may declare its `host`. Absent: supported." }),
  }),
  missingSchema,
]);

/**
 * A supported feature with an optional note about its limits, or an unsupported feature with the reason that clients
 * see.
 */
export type Feature = z.output<typeof feature>;

/** Returns the `metrics` capabilities of a provider that supports either all series or none. */
export const metricsWith = (one: Feature, retentionDays: number) => ({
  requests: one,
  latency: one,
  instances: one,
  cpu: one,
  memory: one,
  cold_starts: one,
  retention_days: retentionDays,
});

/** Returns a supported feature with an optional note about its limits. */
export const offered = (note?: string): Feature =>
  note === undefined ? { supported: true } : { supported: true, note };

/** Returns an unsupported feature. Clients see the reason, for example in a 501. */
export const missing = (reason: string): Feature => ({ supported: false, reason });

const bytes = z.int();

/** The schema of a capability record. */
export const capabilitiesSchema = z
  .object({
    provider: z.string().meta({ examples: ["local"] }),
    region: z.string().meta({ examples: ["local"] }),
    runs: feature.meta({ description: "Services respond at their URLs. Unsupported in a simulation." }),
    isolation: z
      .enum(["none", "filesystem", "full"])
      .meta({ description: "The isolation of services from each other." }),
    runner: z.string().meta({ description: "A description of how instances run." }),
    resources: z
      .array(
        z.object({
          cpu: z.number(),
          memory: z.object({ min: bytes, max: bytes, step: bytes }),
          concurrency: z.int().exactOptional().meta({ description: "The maximum value of `concurrency`." }),
          mounts: z.literal(false).exactOptional().meta({ description: "If false, a service cannot mount volumes." }),
        }),
      )
      .meta({ description: "The available sizes, with memory in bytes." }),
    instances: z.object({
      preset: z.int().meta({ description: "The maximum number of instances that `max_instances: 0` selects." }),
      max: z.int().meta({ description: "The maximum value of `max_instances`." }),
      note: z.string().optional().meta({ description: "Other limits on the number of instances." }),
    }),
    instance_list: feature.meta({ description: "The platform lists the instances of a deployment with their states." }),
    scale_to_zero: feature,
    min_instances: feature.meta({ description: "A deploy may declare how many instances run without requests." }),
    health: healthFeature.meta({ description: "A deploy may declare a health check." }),
    idle: feature.meta({ description: "A deploy may choose whether an idle instance is frozen or stops." }),
    busy_leases: feature.meta({
      description: "A service can take a lease during which its instance is neither frozen nor stopped.",
    }),
    concurrency_cap: feature.meta({ description: "No instance receives more concurrent requests than declared." }),
    request_timeout: feature.meta({ description: "A request that exceeds the declared timeout receives a 504." }),
    session_affinity: feature,
    http2: feature,
    memory_limit: feature,
    cpu_limit: feature,
    builders: z.object({ node: feature, python: feature, procfile: feature, dockerfile: feature }),
    names: z.object({ remembers_freed: feature }),
    releases: feature.meta({
      description: "The platform keeps the releases of a deployment, so that a rollback can restore them.",
    }),
    secrets: feature.meta({ description: "The platform stores secrets, and a variable may refer to one." }),
    domains: feature.meta({ description: "An account can use its own domains for deployments." }),
    volumes: z.object({
      mounts: feature.meta({ description: "Volumes appear as folders in services." }),
      store: feature,
      read_only: feature.meta({ description: "Services cannot write to read-only mounts." }),
      flat_namespace: z.boolean().meta({
        description: "If false, a volume is a file tree: an object's path cannot also be the folder of another object.",
      }),
      case_preserving: z.boolean().meta({
        description: "Names that differ only in case or Unicode normalization are different objects.",
      }),
      conditional_uploads: feature.meta({
        description:
          "Uploads may be conditional (`If-Match`, `If-None-Match`). If unsupported, the storage may ignore the headers.",
      }),
      unsized_uploads: feature.meta({
        description: "An upload may omit `Content-Length`.",
      }),
      resumable_uploads: feature.meta({
        description: "An upload of any size may be sent in parts, and can resume after an interruption.",
      }),
      incomplete_upload_hours: z.int().meta({
        description: "The storage usually deletes an incomplete upload within this number of hours after its start.",
      }),
      head_downloads: feature.meta({
        description: "A download URL also permits HEAD.",
      }),
      cors: feature.meta({
        description: "Web pages of any origin may use signed URLs, and read `ETag` and `Content-Range`.",
      }),
      visible_seconds: z.number().meta({
        description:
          "The maximum delay in seconds until an upload appears in mounts, and until a write to a mount appears in " +
          "downloads.",
      }),
    }),
    source_object: feature,
    deadlines: z.object({ build: z.int(), listen: z.int(), rollout: z.int() }).meta({
      description: "Default time limits of a deploy's phases, in seconds. The platform's settings may override them.",
    }),
    cron: z.object({
      schedules: feature,
      fire: feature.meta({ description: "A client can run a schedule at any time." }),
      max_seconds: z
        .int()
        .meta({ description: "The maximum duration of one attempt to call a service on schedule, in seconds." }),
    }),
    logs: z.object({
      newest: feature,
      since: feature,
      query: feature,
      descending: feature.meta({ description: "Pages may have an upper bound, and may be in descending order." }),
      histogram: feature.meta({ description: "A client can count the entries over time." }),
      values: feature.meta({ description: "A client can list the fields of entries with their values." }),
      settle_seconds: z
        .number()
        .meta({ description: "The maximum delay until an entry appears in reads, in seconds." }),
      retention_days: z.int().meta({ description: "The number of days for which entries are stored." }),
    }),
    sql: z.object({
      queries: feature,
      lag_seconds: z.number().meta({ description: "The usual delay until an entry appears in queries, in seconds." }),
    }),
    metrics: z
      .object({
        requests: feature.meta({ description: "Requests by status class." }),
        latency: feature.meta({ description: "Quantiles of the latency of requests." }),
        instances: feature.meta({ description: "The number of instances, including frozen ones." }),
        cpu: feature.meta({ description: "The CPU time of the instances." }),
        memory: feature.meta({ description: "The memory of the instances." }),
        cold_starts: feature.meta({ description: "Instances that were started for waiting requests." }),
        retention_days: z.int().meta({ description: "The number of days for which metrics are stored." }),
      })
      .meta({ description: "The series of `GET /v1/metrics`." }),
    subscription: feature,
  })
  .readonly();

/** The former names of two volume flags. Version 1 of the API returns each flag under both names. */
export const formerNames = {
  flatNamespace: z.boolean().meta({ deprecated: true, description: "The former name of `flat_namespace`." }),
  casePreserving: z.boolean().meta({ deprecated: true, description: "The former name of `case_preserving`." }),
};

/**
 * The features that a provider supports. An adapter must report them truthfully, because they select contract cases and
 * validate deploys.
 */
export type Capabilities = z.output<typeof capabilitiesSchema>;

/** Capabilities with the former names of two flags, as clients and contract cases read them. */
export interface AnsweredCapabilities extends Capabilities {
  readonly volumes: Capabilities["volumes"] & {
    /** @deprecated Use `flat_namespace`. */
    readonly flatNamespace: boolean;
    /** @deprecated Use `case_preserving`. */
    readonly casePreserving: boolean;
  };
}

export const withFormerNames = (capabilities: Capabilities): AnsweredCapabilities => {
  const { volumes } = capabilities;
  const former = { flatNamespace: volumes.flat_namespace, casePreserving: volumes.case_preserving };
  return { ...capabilities, volumes: { ...volumes, ...former } };
};

/** Converts deadlines from milliseconds, as in the limits, to seconds, as in the capabilities. */
export const deadlinesIn = (
  limits: Pick<DeployLimits, "buildDeadlineMs" | "listenDeadlineMs" | "rolloutDeadlineMs">,
): Capabilities["deadlines"] => ({
  build: limits.buildDeadlineMs / 1000,
  listen: limits.listenDeadlineMs / 1000,
  rollout: limits.rolloutDeadlineMs / 1000,
});

/** Returns an `unsupported` error with the provider's reason, or undefined if the feature is supported. */
export const refusal = (one: Feature): ControlPlaneError | undefined =>
  one.supported ? undefined : unsupported(one.reason);
