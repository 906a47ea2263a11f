/** The quotas of an account as clients see them, and how much of each is in use. */
import { z } from "zod";
import { effectiveMax } from "../deploy/instances.ts";
import { type Service, shownTemplate } from "../deploy/service-template.ts";
import { limitsSchema } from "../wire/responses.ts";
import type { AccountLimits } from "./limits.ts";

/** The quotas under their wire names. */
type Quotas = z.output<typeof limitsSchema>;

export const quotasOf = (limits: AccountLimits): Quotas => ({
  deployments: limits.deployments,
  instances: limits.instances,
  volumes: limits.volumes,
  domains: limits.domains,
  builds_at_once: limits.buildsAtOnce,
  uploads_at_once: limits.uploadsAtOnce,
  sql_at_once: limits.sqlAtOnce,
  requests_per_minute: limits.requestsPerMinute,
});

const { shape } = limitsSchema;

const quota = (name: keyof Quotas, used: string) =>
  z.object({ limit: shape[name], used: z.int().meta({ description: used }) });

/** The schema of the response of `GET /v1/account/usage`. */
export const accountUsageSchema = z.object({
  deployments: quota("deployments", "The number of deployments."),
  instances: quota("instances", "The largest `max_instances` of your deployments. 0 counts as the platform's default."),
  volumes: quota("volumes", "The number of volumes, excluding deleted ones."),
  domains: quota("domains", "The number of custom domains."),
  builds_at_once: quota("builds_at_once", "The number of builds that run on the responding server."),
  uploads_at_once: quota("uploads_at_once", "The number of sources that the responding server is receiving."),
  sql_at_once: quota("sql_at_once", "The number of SQL queries that run on the responding server."),
  requests_per_minute: quota(
    "requests_per_minute",
    "The number of requests that count against the limit now, on the responding server.",
  ),
});

/** The quotas of an account, and how much of each is in use. */
export type AccountUsage = z.output<typeof accountUsageSchema>;

/** Pairs each quota with the amount in use, which may exceed a quota that was lowered. */
export const accountUsageOf = (limits: AccountLimits, used: Quotas): AccountUsage => {
  const limit = quotasOf(limits);
  const pair = (name: keyof Quotas) => ({ limit: limit[name], used: used[name] });
  return {
    deployments: pair("deployments"),
    instances: pair("instances"),
    volumes: pair("volumes"),
    domains: pair("domains"),
    builds_at_once: pair("builds_at_once"),
    uploads_at_once: pair("uploads_at_once"),
    sql_at_once: pair("sql_at_once"),
    requests_per_minute: pair("requests_per_minute"),
  };
};

/** Returns the largest `max_instances` of the services, where 0 counts as `defaultMax`. Returns 0 for no services. */
export const largestInstances = (services: readonly Service[], defaultMax: number): number =>
  Math.max(0, ...services.map((service) => effectiveMax(shownTemplate(service).maxInstances, defaultMax)));
