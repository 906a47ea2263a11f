/** What the exceptions of ECS, Elastic Load Balancing and Application Auto Scaling mean where they are these services' own. */
import type { CallFault } from "../../shared/provider-call.ts";
import { awsFault } from "../errors.ts";

const state = (code: Extract<CallFault, { kind: "state" }>["code"]): CallFault => ({ kind: "state", code });

/** From the models: client-ecs, client-elastic-load-balancing-v2 and client-application-auto-scaling, models/errors. */
const faults: ReadonlyMap<string, CallFault> = new Map([
  ["ServiceNotFoundException", state("not_found")],
  ["ServiceNotActiveException", state("not_found")],
  ["TargetGroupNotFoundException", state("not_found")],
  ["RuleNotFoundException", state("not_found")],
  ["ObjectNotFoundException", state("not_found")],
  ["PriorityInUseException", state("exists")],
  ["DuplicateTargetGroupNameException", state("exists")],
  ["ResourceInUseException", state("changed")],
  // Of a scalable target that somebody else changes at the same time, and of a service: it passes.
  ["ConcurrentUpdateException", { kind: "busy" }],
  ["UpdateInProgressException", { kind: "busy" }],
]);

export const ecsFault = (error: unknown): CallFault | undefined =>
  (error instanceof Error ? faults.get(error.name) : undefined) ?? awsFault(error);

/** No room for more, whoever asks: https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html */
const limits: ReadonlySet<string> = new Set([
  "TooManyRulesException",
  "TooManyTargetGroupsException",
  "TooManyUniqueTargetGroupsPerLoadBalancerException",
  "TargetGroupAssociationLimitException",
  "TooManyTargetsException",
  "LimitExceededException",
]);

export const isLimit = (error: unknown): boolean => error instanceof Error && limits.has(error.name);
