/** Creates a revision without traffic: its task definition, target group, placeholder rule and service. */
import type { TaskDefinition } from "@aws-sdk/client-ecs";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { Logger } from "../../../../core/ports/system.ts";
import { err, errAsync, ok, ResultAsync, safeTry } from "../../../../core/result.ts";
import { backoff } from "../../../cloud/calls/backoff.ts";
import { type CallState, isCallState } from "../../../cloud/calls/provider-call.ts";
import type { Identities } from "../../accounts/identities.ts";
import { type Called, nameOf, type RetryOptions } from "../../call-policy.ts";
import type { Step } from "../../failures.ts";
import type { MountSource } from "../../volumes/files/access-point.ts";
import type { EcsServices } from "../ecs-calls.ts";
import { isLimit } from "../ecs-faults.ts";
import { placeholderHostOf, tagsOf } from "../records/names.ts";
import type { RevisionTemplate } from "../records/record.ts";
import type { EcsLocation } from "../records/service.ts";
import {
  attributesOf,
  type DefinitionInput,
  renderDefinition,
  renderService,
  renderTargetGroup,
  type TargetGroupInput,
} from "../render.ts";
import { ensureRule, failureOfRule, type RuleDeps } from "./listener-rule.ts";
import { maxInstancesOf, minInstancesOf } from "./scaling.ts";

export interface RevisionDeps extends RuleDeps {
  readonly services: EcsServices;
  readonly identities: Identities;
  readonly location: EcsLocation;
  readonly logger: Logger;
}

export interface NewRevision {
  readonly template: ServiceTemplate;
  readonly revision: string;
  readonly write: string;
  readonly taskRole: string;
  readonly executionRole: string;
  /** The ARN of each variable's secret. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Keyed by `folderKey`. */
  readonly fileSystems: ReadonlyMap<string, MountSource>;
  readonly listenDeadlineMs: number;
  /** The serving revision, whose manual changes the new revision keeps. */
  readonly former: RevisionTemplate | undefined;
}

/** The former revision's resources, which may contain manual changes. */
interface FormerResources {
  readonly definition?: TaskDefinition;
  readonly group?: Partial<TargetGroupInput>;
  readonly instances: number;
}

const failureOf = ({ logger }: RevisionDeps, revision: string, error: CallState | Unavailable): DeployFailure => {
  if (!isCallState(error) || isLimit(error.error)) return failureOfRule(error);
  logger.error("ECS or the load balancer rejected a service", { revision, error: error.error });
  return {
    reason: "internal",
    message: "AWS rejected the declaration. The operator can find the reason in the server's log.",
  };
};

const readFormer = (
  { services, balancer }: RevisionDeps,
  former: string,
  retry: RetryOptions,
): Called<FormerResources> =>
  safeTry(async function* () {
    const { taskDefinition, desiredCount = 1, status } = (yield* await services.find(former, retry)) ?? {};
    if (taskDefinition === undefined || status !== "ACTIVE") return ok({ instances: 1 });
    const definition = yield* await services.definition(taskDefinition, retry);
    const group = yield* await balancer.group(former, retry);
    return ok({ definition, instances: desiredCount, ...(group && { group }) });
  });

/** ARNs of the revision's load balancer resources. */
export interface CreatedRevision {
  readonly group: string;
  /** The rule with a host that no client requests. */
  readonly placeholderRule: string;
}

/**
 * How long ECS may reject a service because it does not see a new resource yet, in milliseconds. AWS documents no
 * bound. Both kinds of error are an InvalidParameterException. `named`: the message names the missing resource
 * (`LATE`). `unnamed`: any other message.
 */
const LATE_MS = { named: 60_000, unnamed: 15_000 } as const;
/**
 * Matches ECS's errors for a target group whose rule ECS does not see yet, and for a missing service-linked role:
 * https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/818
 */
const LATE = /does not have an associated load balancer|assume the service linked role/;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 3000;

/** Repeats a call with growing pauses while it fails with a transient error. */
const repeatWhile = <T>(
  { clock }: RevisionDeps,
  isTransient: (error: CallState | Unavailable, nextAt: number) => boolean,
  call: () => Called<T>,
  { signal }: RetryOptions,
): Called<T> => {
  const pauses = backoff(FIRST_PAUSE_MS, MAX_PAUSE_MS);
  const repeat = (): Called<T> =>
    call().orElse((error) => {
      const { value: pause } = pauses.next();
      if (signal?.aborted === true || !isTransient(error, millisOf(clock.now()) + pause)) return errAsync(error);
      return ResultAsync.fromSafePromise(clock.sleep(pause, signal)).andThen(repeat);
    });
  return repeat();
};

/**
 * "Task definition size limit": 64 KB, https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-quotas.html
 */
const MAX_DEFINITION_BYTES = 64 * 1024;

const definitionBytes = (task: DefinitionInput): number => Buffer.byteLength(JSON.stringify(task));

const TOO_MUCH_ENVIRONMENT: DeployFailure = {
  reason: "quota_exceeded",
  message:
    "The environment is too large. With it, the service's task definition exceeds ECS's limit of 64 KB. Remove, combine or shorten some variables.",
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "");

/**
 * ECS may reject a role that was just created: https://github.com/terraform-aws-modules/terraform-aws-ecs/issues/414.
 * https://github.com/hashicorp/terraform-provider-aws also retries the registration of an `aws_ecs_task_definition`.
 */
const isLateRole = (error: CallState | Unavailable): boolean =>
  isCallState(error)
    ? messageOf(error.error).includes("Role is not valid")
    : messageOf(error.cause).includes("iam:PassRole");

/** Retries while ECS does not see a new role, which the account's first deploy creates. */
const register = (
  deps: RevisionDeps,
  task: DefinitionInput,
  roles: readonly string[],
  retry: RetryOptions,
): Called<string> =>
  repeatWhile(
    deps,
    (error) => roles.some((role) => deps.identities.isNew(role)) && isLateRole(error),
    () => deps.services.register(task, retry),
    retry,
  );

/**
 * For a few seconds after Portside creates the rule, ECS may not yet see that the target group has a load balancer. ECS
 * then throws InvalidParameterException. https://github.com/hashicorp/terraform-provider-aws also retries in this case.
 * The client token makes retries idempotent.
 */
const createService = (
  deps: RevisionDeps,
  input: Parameters<EcsServices["create"]>[0],
  retry: RetryOptions,
): Called<void> => {
  const begun = millisOf(deps.clock.now());
  const timeoutOf = (error: unknown) => LATE_MS[LATE.test(messageOf(error)) ? "named" : "unnamed"];
  return repeatWhile(
    deps,
    (error, nextAt) =>
      isCallState(error) &&
      nameOf(error.error) === "InvalidParameterException" &&
      nextAt <= begun + timeoutOf(error.error),
    () => deps.services.create(input, retry),
    retry,
  );
};

export const createRevision = (
  deps: RevisionDeps,
  newRevision: NewRevision,
  retry: RetryOptions,
): Step<CreatedRevision> =>
  safeTry(async function* () {
    const { balancer, location } = deps;
    const { template, revision, write, former, listenDeadlineMs } = newRevision;
    const toFailure = (error: CallState | Unavailable) => failureOf(deps, revision, error);
    const before: FormerResources =
      former === undefined ? { instances: 1 } : yield* await readFormer(deps, former.id, retry).mapErr(toFailure);
    const task = renderDefinition(location, template, newRevision, before.definition, former?.template);
    if (definitionBytes(task) > MAX_DEFINITION_BYTES) return err<never, DeployFailure>(TOO_MUCH_ENVIRONMENT);
    const roles = [newRevision.taskRole, newRevision.executionRole];
    const definition = yield* await register(deps, task, roles, retry).mapErr(toFailure);
    const targets = renderTargetGroup(location, template, revision, before.group, former?.template);
    const group = yield* await balancer.createGroup(targets, retry).mapErr(toFailure);
    yield* await balancer.setAttributes(group, attributesOf(template), retry).mapErr(toFailure);
    // Until the revision serves, a rule with an unused host references its group. Without the rule, ECS would reject
    // the group, and the load balancer would not check the group's targets.
    const tags = tagsOf({ ...template, revision });
    const placeholder = yield* await ensureRule(deps, { host: placeholderHostOf(write), group, tags }, retry);
    const instances = Math.min(Math.max(before.instances, minInstancesOf(template)), maxInstancesOf(template));
    const service = renderService(location, template, {
      revision,
      write,
      definition,
      group,
      instances,
      listenDeadlineMs,
    });
    yield* await createService(deps, service, retry).mapErr(toFailure);
    return ok({ group, placeholderRule: placeholder.arn });
  });
