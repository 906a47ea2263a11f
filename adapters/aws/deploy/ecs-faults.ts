/**
 * Classifies exceptions of ECS, Elastic Load Balancing and Application Auto Scaling. `errors.ts` classifies the rest.
 */
import type { CallFault } from "../../cloud/calls/faults.ts";
import { awsFault } from "../errors.ts";

const state = (code: Extract<CallFault, { kind: "state" }>["code"]): CallFault => ({ kind: "state", code });

/** Source: client-ecs, client-elastic-load-balancing-v2 and client-application-auto-scaling, models/errors. */
const faults: ReadonlyMap<string, CallFault> = new Map([
  ["ServiceNotFoundException", state("not_found")],
  ["ServiceNotActiveException", state("not_found")],
  ["TargetGroupNotFoundException", state("not_found")],
  ["RuleNotFoundException", state("not_found")],
  ["CertificateNotFoundException", state("not_found")],
  ["ObjectNotFoundException", state("not_found")],
  ["PriorityInUseException", state("exists")],
  ["DuplicateTargetGroupNameException", state("exists")],
  ["ResourceInUseException", state("changed")],
  // Another call is changing the scalable target or the service; transient.
  ["ConcurrentUpdateException", { kind: "busy" }],
  ["UpdateInProgressException", { kind: "busy" }],
]);

export const ecsFault = (error: unknown): CallFault | undefined =>
  (error instanceof Error ? faults.get(error.name) : undefined) ?? awsFault(error);

/** Exceeded quotas: https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html */
const limits: ReadonlySet<string> = new Set([
  "TooManyRulesException",
  "TooManyTargetGroupsException",
  "TooManyUniqueTargetGroupsPerLoadBalancerException",
  "TargetGroupAssociationLimitException",
  "TooManyTargetsException",
  "TooManyCertificatesException",
  "LimitExceededException",
]);

export const isLimit = (error: unknown): boolean => error instanceof Error && limits.has(error.name);
