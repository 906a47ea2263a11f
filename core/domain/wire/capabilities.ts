/**
 * What a provider supports and does not support, as data with reasons.
 *
 * One record selects the contract cases, feeds validation (a 422 before a rollout instead of a failure during it),
 * explains a 501, is served at `/v1/capabilities`, and generates the matrix in the docs.
 */
import { z } from "zod";
import { type ControlPlaneError, unsupported } from "../../errors.ts";

const feature = z.discriminatedUnion("supported", [
  z.object({ supported: z.literal(true), note: z.string().optional() }),
  z.object({ supported: z.literal(false), reason: z.string() }),
]);

/** A supported feature, optionally with a note about its limits, or a missing one with the reason that clients see. */
export type Feature = z.output<typeof feature>;

export const offered = (note?: string): Feature =>
  note === undefined ? { supported: true } : { supported: true, note };
export const missing = (reason: string): Feature => ({ supported: false, reason });

const bytes = z.int();

export const capabilitiesSchema = z
  .object({
    provider: z.string().meta({ examples: ["local"] }),
    region: z.string().meta({ examples: ["local"] }),
    runs: feature.meta({ description: "Services really run; a simulation answers at no URL." }),
    isolation: z
      .enum(["none", "filesystem", "full"])
      .meta({ description: "What keeps neighbours apart on this platform." }),
    runner: z.string().meta({ description: "How instances run, in words." }),
    resources: z
      .array(z.object({ cpu: z.int(), memory: z.object({ min: bytes, max: bytes, step: bytes }) }))
      .meta({ description: "The sizes on offer, memory in bytes." }),
    instances: z.object({
      preset: z.int().meta({ description: "What max_instances 0 means." }),
      max: z.int(),
    }),
    scale_to_zero: feature,
    concurrency_cap: feature.meta({ description: "No instance gets more requests at once than declared." }),
    request_timeout: feature.meta({ description: "A request past the declared timeout gets 504." }),
    session_affinity: feature,
    http2: feature,
    memory_limit: feature,
    cpu_limit: feature,
    builders: z.object({ node: feature, python: feature, procfile: feature, dockerfile: feature }),
    names: z.object({ remembers_freed: feature }),
    volumes: z.object({
      mounts: feature.meta({ description: "Services see their volumes as folders." }),
      store: feature,
      read_only: feature.meta({ description: "A read-only mount cannot be written." }),
      flat_namespace: z.boolean().meta({
        description: "False: a volume is a file tree, so no object is another's folder.",
      }),
      case_preserving: z.boolean().meta({
        description: "Names that differ only in case or normal form are different objects.",
      }),
      conditional_uploads: feature.meta({
        description: "An upload's If-Match and If-None-Match are held to; else they may count for nothing.",
      }),
      unsized_uploads: feature.meta({
        description: "An upload may begin before its length is known; else its Content-Length is needed.",
      }),
      head_downloads: feature.meta({
        description: "A download's URL is good for HEAD as well, which says what GET would.",
      }),
      visible_seconds: z.number().meta({
        description: "How long what is put by URL may take to show in a mount, and the reverse.",
      }),
    }),
    source_object: feature,
    deadlines: z
      .object({ build: z.int(), listen: z.int(), rollout: z.int() })
      .meta({ description: "Seconds that the phases of a deploy may take, where the platform's settings do not say." }),
    cron: z.object({ schedules: feature, max_seconds: z.int() }),
    logs: z.object({
      newest: feature,
      since: feature,
      query: feature,
      settle_seconds: z.number(),
      retention_days: z.int(),
    }),
    sql: z.object({
      queries: feature,
      lag_seconds: z.number().meta({ description: "How long an entry may take to show in a query." }),
    }),
    subscription: feature,
  })
  .readonly();

/** Version 1 of the API also answers two flags of volumes under their former names. */
export const formerNames = {
  flatNamespace: z.boolean().meta({ deprecated: true, description: "The former name of `flat_namespace`." }),
  casePreserving: z.boolean().meta({ deprecated: true, description: "The former name of `case_preserving`." }),
};

export type Capabilities = z.output<typeof capabilitiesSchema>;

/** Capabilities as clients and contract cases read them. */
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

/** Converts deadlines from the milliseconds of the limits to the seconds of the capabilities. */
export const deadlinesIn = (limits: {
  readonly buildDeadline: number;
  readonly listenDeadline: number;
  readonly rolloutDeadline: number;
}): Capabilities["deadlines"] => ({
  build: limits.buildDeadline / 1000,
  listen: limits.listenDeadline / 1000,
  rollout: limits.rolloutDeadline / 1000,
});

/** Returns an `unsupported` error with the provider's reason, or undefined if the feature is supported. */
export const refusal = (one: Feature): ControlPlaneError | undefined =>
  one.supported ? undefined : unsupported(one.reason);
