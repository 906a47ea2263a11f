/** Creates a revision without traffic: its service and its target group. */
import type { TaskDefinition } from "@aws-sdk/client-ecs";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { Logger } from "../../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { pausesBetween } from "../../../shared/calls/backoff.ts";
import { type CallState, isCallState } from "../../../shared/calls/provider-call.ts";
import { nameOf } from "../../call-policy.ts";
import type { RetryOptions } from "../../state-bucket.ts";
import type { MountSource } from "../../volumes/files/access-point.ts";
import type { EcsServices } from "../ecs-calls.ts";
import { isLimit } from "../ecs-faults.ts";
import { placeholderHostOf, tagsOf } from "../records/names.ts";
import type { RevisionTemplate } from "../records/record.ts";
import type { EcsLocation } from "../records/service.ts";
import { attributesOf, renderDefinition, renderService, renderTargetGroup, type TargetGroupInput } from "../render.ts";
import { ensureRule, failureOfRule, type RuleDeps } from "./listener-rule.ts";
import { instanceLimits } from "./scaling.ts";

export interface RevisionDeps extends RuleDeps {
  readonly services: EcsServices;
  readonly location: EcsLocation;
  readonly logger: Logger;
}

export interface NewRevision {
  readonly template: ServiceTemplate;
  readonly revision: string;
  readonly write: string;
  readonly taskRole: string;
  /** Keyed by `folderKey`. */
  readonly fileSystems: ReadonlyMap<string, MountSource>;
  readonly listenDeadline: number;
  /** The serving revision; the new one starts from its settings. */
  readonly former: RevisionTemplate | undefined;
}

/** The former revision's resources, including manual changes. */
interface FormerResources {
  readonly definition?: TaskDefinition;
  readonly group?: Partial<TargetGroupInput>;
  readonly instances: number;
}

type Step<T> = Promise<Result<T, DeployFailure>>;

const failureOf = ({ logger }: RevisionDeps, revision: string, error: CallState | Unavailable): DeployFailure => {
  if (!isCallState(error)) return failureOfRule(error);
  if (isLimit(error.error)) return failureOfRule(error);
  logger.error("ECS or the load balancer rejected a service", { revision, error: error.error });
  return {
    reason: "internal",
    message: "AWS rejected the declaration. The operator finds the reason in the server's log.",
  };
};

const readFormer = async ({ services, balancer }: RevisionDeps, former: string, retry: RetryOptions) => {
  const service = await services.find(former, retry);
  if (service.isErr()) return err(service.error);
  const { taskDefinition, desiredCount = 1, status } = service.value ?? {};
  if (taskDefinition === undefined || status !== "ACTIVE") return ok<FormerResources>({ instances: 1 });
  const definition = await services.definition(taskDefinition, retry);
  if (definition.isErr()) return err(definition.error);
  const group = await balancer.group(former, retry);
  if (group.isErr()) return err(group.error);
  return ok<FormerResources>({
    definition: definition.value,
    instances: desiredCount,
    ...(group.value && { group: group.value }),
  });
};

const maxInstancesOf = ({ maxInstances }: ServiceTemplate): number =>
  maxInstances === 0 ? instanceLimits.preset : maxInstances;

/** ARNs of the revision's load balancer resources. */
export interface CreatedRevision {
  readonly group: string;
  /** The rule with a host that no client requests. */
  readonly placeholderRule: string;
}

/** How long ECS may not see that a rule references the group, in milliseconds. AWS documents no bound. */
const ASSOCIATION_TIMEOUT_MS = 15_000;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 3000;

/**
 * Right after the rule's creation, ECS may still see the group without a load balancer. It then fails with the
 * exception for any invalid parameter; https://github.com/hashicorp/terraform-provider-aws retries here too. The token
 * makes retries idempotent.
 */
const createService = async (
  { services, clock }: RevisionDeps,
  input: Parameters<EcsServices["create"]>[0],
  retry: RetryOptions,
): ReturnType<EcsServices["create"]> => {
  const end = millisOf(clock.now()) + ASSOCIATION_TIMEOUT_MS;
  const pauses = pausesBetween(FIRST_PAUSE_MS, MAX_PAUSE_MS);
  const create = async (): ReturnType<EcsServices["create"]> => {
    const created = await services.create(input, retry);
    const isTransient =
      created.isErr() && isCallState(created.error) && nameOf(created.error.error) === "InvalidParameterException";
    const { value: pause = 0 } = pauses.next();
    if (!isTransient || retry.signal?.aborted === true || millisOf(clock.now()) + pause > end) return created;
    await clock.sleep(pause, retry.signal);
    return create();
  };
  return create();
};

export const createRevision = async (
  deps: RevisionDeps,
  newRevision: NewRevision,
  retry: RetryOptions,
): Step<CreatedRevision> => {
  const { services, balancer, location } = deps;
  const { template, revision, write, former, listenDeadline } = newRevision;
  const before =
    former === undefined ? ok<FormerResources>({ instances: 1 }) : await readFormer(deps, former.id, retry);
  if (before.isErr()) return err(failureOf(deps, revision, before.error));
  const { definition: present, group: formerGroup, instances } = before.value;
  const registered = await services.register(
    renderDefinition(location, template, newRevision, present, former?.template),
    retry,
  );
  if (registered.isErr()) return err(failureOf(deps, revision, registered.error));
  const group = await balancer.createGroup(renderTargetGroup(location, template, revision, formerGroup), retry);
  if (group.isErr()) return err(failureOf(deps, revision, group.error));
  const attributes = await balancer.setAttributes(group.value, attributesOf(template), retry);
  if (attributes.isErr()) return err(failureOf(deps, revision, attributes.error));
  // Until the revision serves, a rule with an unused host references its group: ECS rejects groups without a load
  // balancer, and the load balancer does not check them.
  const tags = tagsOf({ ...template, revision });
  const placeholder = await ensureRule(deps, { host: placeholderHostOf(write), group: group.value, tags }, retry);
  if (placeholder.isErr()) return err(placeholder.error);
  const service = renderService(location, template, {
    revision,
    write,
    definition: registered.value,
    group: group.value,
    instances: Math.min(Math.max(instances, 1), maxInstancesOf(template)),
    listenDeadline,
  });
  const created = await createService(deps, service, retry);
  if (created.isErr()) return err(failureOf(deps, revision, created.error));
  return ok({ group: group.value, placeholderRule: placeholder.value.arn });
};
