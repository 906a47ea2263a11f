/** Computes how many deployments, volumes and other resources an AWS account's quotas allow in one region. Pure. */
import { type Ceiling, type CeilingRule, ceilingOf, per } from "../cloud/ceilings.ts";

/** The name of a quota in Service Quotas. */
export interface QuotaName {
  readonly service: string;
  /** The quota's code, or its name if AWS documents no code. */
  readonly quota: string;
}

/** https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_ServiceQuota.html */
export interface ServiceQuota {
  readonly QuotaCode?: string;
  readonly QuotaName?: string;
  readonly Value?: number;
  readonly Adjustable?: boolean;
  /** Why the value is missing. */
  readonly ErrorReason?: { readonly ErrorCode?: string; readonly ErrorMessage?: string };
}

interface AwsCeilingRule extends CeilingRule {
  /** Undefined for a limit that is not in Service Quotas. */
  readonly name?: QuotaName;
  /** How to raise the limit if Service Quotas cannot. */
  readonly otherwise: string;
}

const BALANCER_LIMITS = "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html";
const SUPPORT = "contact AWS Support";

/** Reserves room for one rollout, during which the old and the new revision exist at the same time. */
const withRollout = (quota: number): number => Math.max(0, Math.floor(quota) - 1);

/**
 * Reads per minute that the quota must allow for each followed log. Followers get two fifths of the reads
 * (logs/store.ts). A read returns at most 1 MB, so in the worst case each log needs its own read every 15 s.
 */
const READS_PER_LOG = ((5 / 2) * 60) / 15;

/** The quotas that limit an installation. Omits quotas that are far above what Portside uses. */
export const ceilingRules = {
  cpus: {
    what: "deployments",
    quota: "Fargate On-Demand vCPU in the region",
    name: { service: "fargate", quota: "L-3032A538" },
    initial: 6,
    source: "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-quotas.html",
    each: "1 for each CPU of each instance, and twice that during a rollout",
    max: withRollout,
    otherwise: SUPPORT,
  },
  targetGroups: {
    what: "deployments",
    quota: "target groups of the load balancer",
    name: { service: "elasticloadbalancing", quota: "L-822D1B1B" },
    initial: 100,
    source: BALANCER_LIMITS,
    each: "1, and 2 during a rollout",
    max: withRollout,
    otherwise: "add a load balancer with the stack's parameter MoreBalancers; AWS does not raise the quota",
  },
  rules: {
    what: "deployments",
    quota: "rules of the load balancer",
    name: { service: "elasticloadbalancing", quota: "L-7EED9B64" },
    initial: 100,
    source: BALANCER_LIMITS,
    each: "1, and 2 during a rollout",
    max: withRollout,
    otherwise: SUPPORT,
  },
  volumes: {
    what: "volumes",
    quota: "S3 Files file systems of the account",
    initial: 1000,
    source: "https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-quotas.html",
    each: "1",
    max: per(1),
    otherwise: SUPPORT,
  },
  builds: {
    what: "concurrent builds",
    quota: "concurrent builds in CodeBuild's Linux/Medium environment in the region",
    name: { service: "codebuild", quota: "L-2DC20C30" },
    initial: 1,
    source: "https://docs.aws.amazon.com/codebuild/latest/userguide/limits.html",
    each: "1",
    max: per(1),
    otherwise: SUPPORT,
  },
  fires: {
    what: "concurrent runs of schedules",
    quota: "concurrent Lambda executions in the region",
    name: { service: "lambda", quota: "L-B99A9384" },
    initial: 1000,
    source: "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html",
    each: "1; other functions of the account count too",
    max: per(1),
    otherwise: SUPPORT,
  },
  followers: {
    what: "followed logs",
    quota: "log reads per minute",
    name: { service: "logs", quota: "FilterLogEvents throttle limit in transactions per second" },
    initial: 300,
    source: "https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html",
    each: `${READS_PER_LOG} at most; logs with few lines share reads`,
    max: per(READS_PER_LOG),
    otherwise: "not possible, because AWS does not raise the quota",
  },
} as const satisfies Readonly<Record<string, AwsCeilingRule>>;

export type CeilingKind = keyof typeof ceilingRules;

const kinds = Object.keys(ceilingRules) as CeilingKind[];
const ruleOf = (kind: CeilingKind): AwsCeilingRule => ceilingRules[kind];

/** The rules whose quotas are in Service Quotas. */
export const namedKinds: readonly (readonly [CeilingKind, QuotaName])[] = kinds.flatMap((kind) => {
  const { name } = ruleOf(kind);
  return name === undefined ? [] : [[kind, name] as const];
});

/** Finds a quota in the list of its service. Returns undefined if the list does not contain it. */
export const quotaIn = (listed: readonly ServiceQuota[], { quota }: QuotaName): ServiceQuota | undefined =>
  listed.find(({ QuotaCode, QuotaName: name }) => QuotaCode === quota || name === quota);

export interface RaisableCeiling extends Ceiling {
  readonly what: string;
  /** How to raise the ceiling. */
  readonly raise: string;
}

export type Quotas = Readonly<Partial<Record<CeilingKind, ServiceQuota>>>;

interface Installation {
  readonly region: string;
  readonly logReadsPerMinute: number;
  /** Number of load balancers. */
  readonly balancers: number;
}

/** The quotas that apply to each load balancer. */
const ofEachBalancer: ReadonlySet<CeilingKind> = new Set(["targetGroups", "rules"]);

const ruleWith = (kind: CeilingKind, { balancers }: Installation): AwsCeilingRule => {
  const rule = ruleOf(kind);
  if (balancers === 1 || !ofEachBalancer.has(kind)) return rule;
  return {
    ...rule,
    quota: `${rule.quota}, on each of ${balancers}`,
    max: (quota, others) => balancers * rule.max(quota, others),
  };
};

const raiseOf = (kind: CeilingKind, quota: ServiceQuota | undefined, { region }: Installation): string => {
  const { name, otherwise } = ruleOf(kind);
  const code = quota?.QuotaCode;
  return name === undefined || code === undefined || quota?.Adjustable !== true
    ? otherwise
    : `aws service-quotas request-service-quota-increase --service-code ${name.service} --quota-code ${code} --region ${region} --desired-value VALUE`;
};

/** Log reads are subject to this server's setting and to the account's quota. The lower one applies. */
const followersOf = (perSecond: number | undefined, { logReadsPerMinute }: Installation): RaisableCeiling => {
  const rule = ruleOf("followers");
  const allowed = perSecond === undefined ? rule.initial : perSecond * 60;
  const isSetting = logReadsPerMinute < allowed;
  const quota = isSetting ? "log reads per minute of this server" : rule.quota;
  const limit = isSetting || perSecond !== undefined ? Math.min(logReadsPerMinute, allowed) : undefined;
  return {
    what: rule.what,
    ...ceilingOf({ ...rule, quota }, limit, "assumed"),
    raise: isSetting ? `--aws-log-reads-per-minute, up to ${allowed} for all servers together` : rule.otherwise,
  };
};

/**
 * Returns the lowest ceiling for each kind of resource.
 *
 * @param quotas the quotas that Service Quotas reports; a missing quota defaults to the value for a new account
 */
export const ceilingsOf = (quotas: Quotas, installation: Installation): readonly RaisableCeiling[] => {
  const lowest = new Map<string, RaisableCeiling>();
  for (const kind of kinds) {
    const rule = ruleWith(kind, installation);
    const quota = quotas[kind];
    const origin = rule.name === undefined ? "according to AWS's documentation" : "assumed";
    const ceiling =
      kind === "followers"
        ? followersOf(quota?.Value, installation)
        : { what: rule.what, ...ceilingOf(rule, quota?.Value, origin), raise: raiseOf(kind, quota, installation) };
    if (ceiling.max < (lowest.get(rule.what)?.max ?? Number.POSITIVE_INFINITY)) lowest.set(rule.what, ceiling);
  }
  return [...lowest.values()];
};
