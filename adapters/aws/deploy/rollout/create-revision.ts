/** Creates a revision: its service and its target group, without traffic. */
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
import { isLimit } from "../error-kinds.ts";
import { heldHostOf, tagsOf } from "../records/names.ts";
import type { RevisionTemplate } from "../records/record.ts";
import type { EcsLocation } from "../records/service.ts";
import { attributesOf, renderDefinition, renderService, renderTargetGroup, type TargetGroupInput } from "../render.ts";
import { ensureRule, failureOfRule, type RuleDeps } from "./listener-rule.ts";
import { instanceLimits } from "./scaling.ts";

export interface RevisionDeps extends RuleDeps {
  readonly services: EcsServices;
  readonly place: EcsLocation;
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
  /** The serving revision, whose settings the new one starts from. */
  readonly former: RevisionTemplate | undefined;
}

/** What exists of the former revision, including changes by hand. */
interface Standing {
  readonly definition?: TaskDefinition;
  readonly group?: Partial<TargetGroupInput>;
  readonly instances: number;
}

type Step<T> = Promise<Result<T, DeployFailure>>;

const refused = ({ logger }: RevisionDeps, revision: string, error: CallState | Unavailable): DeployFailure => {
  if (!isCallState(error)) return failureOfRule(error);
  if (isLimit(error.error)) return failureOfRule(error);
  logger.error("Amazon does not take a service", { revision, error: error.error });
  return {
    reason: "internal",
    message: "Amazon Web Services does not take the service as declared; the platform's operator can see why.",
  };
};

const standing = async ({ services, balancer }: RevisionDeps, former: string, retry: RetryOptions) => {
  const service = await services.find(former, retry);
  if (service.isErr()) return err(service.error);
  const { taskDefinition, desiredCount = 1, status } = service.value ?? {};
  if (taskDefinition === undefined || status !== "ACTIVE") return ok<Standing>({ instances: 1 });
  const definition = await services.definition(taskDefinition, retry);
  if (definition.isErr()) return err(definition.error);
  const group = await balancer.group(former, retry);
  if (group.isErr()) return err(group.error);
  return ok<Standing>({
    definition: definition.value,
    instances: desiredCount,
    ...(group.value && { group: group.value }),
  });
};

const mostOf = ({ maxInstances }: ServiceTemplate): number =>
  maxInstances === 0 ? instanceLimits.preset : maxInstances;

/** ARNs of the revision's load balancer resources. */
export interface CreatedRevision {
  readonly group: string;
  /** The rule for a host that no client requests. */
  readonly heldRule: string;
}

/** How long ECS may not see that a rule references the group. AWS documents no figure. */
const ASSOCIATED_MS = 15_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 3000;

/**
 * Right after its rule was created, ECS may still see the group without a load balancer. It then fails with the exception
 * for any invalid parameter; https://github.com/hashicorp/terraform-provider-aws waits here too. The token makes retries
 * idempotent.
 */
const createService = async (
  { services, clock }: RevisionDeps,
  input: Parameters<EcsServices["create"]>[0],
  retry: RetryOptions,
): ReturnType<EcsServices["create"]> => {
  const end = millisOf(clock.now()) + ASSOCIATED_MS;
  const pauses = pausesBetween(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  const create = async (): ReturnType<EcsServices["create"]> => {
    const created = await services.create(input, retry);
    const mayPass =
      created.isErr() && isCallState(created.error) && nameOf(created.error.error) === "InvalidParameterException";
    const { value: pause = 0 } = pauses.next();
    if (!mayPass || retry.signal?.aborted === true || millisOf(clock.now()) + pause > end) return created;
    await clock.sleep(pause, retry.signal);
    return create();
  };
  return create();
};

export const createRevision = async (
  deps: RevisionDeps,
  wanted: NewRevision,
  retry: RetryOptions,
): Step<CreatedRevision> => {
  const { services, balancer, place } = deps;
  const { template, revision, write, former, listenDeadline } = wanted;
  const over = former === undefined ? ok<Standing>({ instances: 1 }) : await standing(deps, former.id, retry);
  if (over.isErr()) return err(refused(deps, revision, over.error));
  const { definition: present, group: formerGroup, instances } = over.value;
  const registered = await services.register(
    renderDefinition(place, template, wanted, present, former?.template),
    retry,
  );
  if (registered.isErr()) return err(refused(deps, revision, registered.error));
  const group = await balancer.makeGroup(renderTargetGroup(place, template, revision, formerGroup), retry);
  if (group.isErr()) return err(refused(deps, revision, group.error));
  const set = await balancer.setAttributes(group.value, attributesOf(template), retry);
  if (set.isErr()) return err(refused(deps, revision, set.error));
  // Until it serves, a rule for an unused host references it: ECS rejects groups without a load balancer, and they get no
  // checks.
  const tags = tagsOf({ ...template, revision });
  const held = await ensureRule(deps, { host: heldHostOf(write), group: group.value, tags }, retry);
  if (held.isErr()) return err(held.error);
  const service = renderService(place, template, {
    revision,
    write,
    definition: registered.value,
    group: group.value,
    instances: Math.min(Math.max(instances, 1), mostOf(template)),
    listenDeadline,
  });
  const created = await createService(deps, service, retry);
  if (created.isErr()) return err(refused(deps, revision, created.error));
  return ok({ group: group.value, heldRule: held.value.arn });
};
