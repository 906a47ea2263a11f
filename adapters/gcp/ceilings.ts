/** Computes the limits of one project from its quotas. Pure functions. */
import { type Ceiling, type CeilingRule, ceilingOf, per } from "../cloud/ceilings.ts";

/** The name of a quota in Service Usage. */
export interface QuotaName {
  readonly service: string;
  readonly metric: string;
  /** `minute` for a rate, `total` for the number of resources that exist at the same time. */
  readonly per: "minute" | "total";
}

interface GcpCeilingRule extends CeilingRule {
  /** Undefined if Service Usage does not report the quota. */
  readonly name?: QuotaName;
}

const RUN = "run.googleapis.com";

/** CPUs of a build machine, e2-standard-2: https://cloud.google.com/build/pricing */
const BUILD_CPUS = 2;
/**
 * The writes to a service during one deploy: the new revision, its traffic, and the deletion of the revision whose
 * release is no longer kept.
 */
const WRITES_PER_DEPLOY = 3;
/**
 * Log reads per minute that the quota must allow for each followed log. A log that is read 15 times a minute shows new
 * entries within 15 s: up to 10 s until Cloud Logging shows them, and up to 4 s until the next read. One read covers at
 * least 120 logs. Followers get half of all reads.
 */
const READS_PER_LOG = (2 * 15) / 120;

/** The limits of a project. Omits limits that are far above Portside's use. */
export const ceilingRules = {
  deployments: {
    what: "deployments",
    quota: "Cloud Run services in the region",
    initial: 1000,
    source: "https://docs.cloud.google.com/run/quotas",
    each: "1",
    max: per(1),
  },
  schedules: {
    what: "deployments with a schedule",
    quota: "Cloud Scheduler jobs in the region",
    name: { service: "cloudscheduler.googleapis.com", metric: "cloudscheduler.googleapis.com/jobs", per: "total" },
    initial: 1000,
    source: "https://docs.cloud.google.com/scheduler/quotas",
    each: "1",
    max: per(1),
  },
  accounts: {
    what: "accounts",
    quota: "service accounts",
    name: { service: "iam.googleapis.com", metric: "iam.googleapis.com/quota/service-account-count", per: "total" },
    initial: 100,
    source: "https://docs.cloud.google.com/iam/quotas",
    each: "1; those of other programs in the project also count",
    max: (quota, others) => Math.max(0, quota - others),
  },
  builds: {
    what: "concurrent builds",
    quota: "build CPUs in the region",
    name: {
      service: "cloudbuild.googleapis.com",
      metric: "cloudbuild.googleapis.com/concurrent_public_pool_build_cpus",
      per: "total",
    },
    initial: 5,
    source: "https://docs.cloud.google.com/build/quotas",
    each: `${BUILD_CPUS}`,
    max: per(BUILD_CPUS),
  },
  deploys: {
    what: "deploys per minute",
    quota: "Cloud Run writes per minute in the region",
    name: { service: RUN, metric: "run.googleapis.com/write_regional", per: "minute" },
    initial: 60,
    source: "https://docs.cloud.google.com/run/quotas",
    each: `${WRITES_PER_DEPLOY}`,
    max: per(WRITES_PER_DEPLOY),
  },
  instances: {
    what: "concurrent instances with 1 CPU",
    quota: "Cloud Run CPU in the region, in thousandths of a CPU",
    name: { service: RUN, metric: "run.googleapis.com/cpu_allocation", per: "total" },
    initial: 20_000,
    source: "https://docs.cloud.google.com/run/docs/configuring/max-instances-limits",
    each: "1000",
    max: per(1000),
  },
  followers: {
    what: "followed logs, each by any number of clients",
    quota: "log reads per minute",
    name: { service: "logging.googleapis.com", metric: "logging.googleapis.com/read_requests", per: "minute" },
    initial: 60,
    source: "https://docs.cloud.google.com/logging/quotas",
    each: `${READS_PER_LOG}`,
    max: per(READS_PER_LOG),
  },
} as const satisfies Readonly<Record<string, GcpCeilingRule>>;

export type CeilingKind = keyof typeof ceilingRules;

/** The Google services whose quotas the rules use. */
export const quotaServices: readonly string[] = [
  ...new Set(Object.values<GcpCeilingRule>(ceilingRules).flatMap(({ name }) => name?.service ?? [])),
];

/** https://docs.cloud.google.com/service-usage/docs/reference/rest/v1beta1/services.consumerQuotaMetrics */
export interface QuotaMetric {
  readonly metric: string;
  readonly consumerQuotaLimits?: readonly {
    /** For example `1/{project}/{region}`, or `1/min/{project}` for a rate. */
    readonly unit?: string;
    readonly quotaBuckets?: readonly {
      /** -1 means unlimited. JSON omits 0. */
      readonly effectiveLimit?: string;
      readonly dimensions?: Readonly<Record<string, string>>;
    }[];
  }[];
}

/**
 * Returns the lowest limit that applies to a region: Infinity if it is unlimited, and undefined if Service Usage does
 * not report the quota.
 */
export const quotaOf = (metrics: readonly QuotaMetric[], { metric, per }: QuotaName, region: string) => {
  const limits = metrics.find((one) => one.metric === metric)?.consumerQuotaLimits ?? [];
  const found = limits.flatMap(({ unit = "", quotaBuckets = [] }) => {
    const isRate = unit.startsWith("1/min/");
    // Limits per user do not limit the project.
    if (isRate !== (per === "minute") || unit.includes("{user}")) return [];
    // "ordered from least specific to most specific" (`quotaBuckets`).
    const bucket = quotaBuckets.findLast(({ dimensions = {} }) =>
      Object.values(dimensions).every((value) => value === region),
    );
    if (bucket === undefined) return [];
    const limit = Number(bucket.effectiveLimit ?? 0);
    return [limit < 0 ? Number.POSITIVE_INFINITY : limit];
  });
  return found.length === 0 ? undefined : Math.min(...found);
};

export type Quotas = Readonly<Partial<Record<CeilingKind, number>>>;

/**
 * @param quotas the quotas that Service Usage reports; a missing quota defaults to the value for a new project
 * @param otherIdentities number of service accounts that do not belong to Portside accounts
 */
export const ceilingsOf = (
  quotas: Quotas,
  otherIdentities: number,
): readonly (Ceiling & { readonly kind: CeilingKind })[] =>
  Object.entries<GcpCeilingRule>(ceilingRules).map(([name, rule]) => {
    const kind = name as CeilingKind;
    const origin = rule.name === undefined ? "according to Google's documentation" : "assumed";
    return { kind, ...ceilingOf(rule, quotas[kind], origin, otherIdentities) };
  });
