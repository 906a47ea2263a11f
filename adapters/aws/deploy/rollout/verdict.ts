/** Determines whether a new revision is ready, in progress or failed, and why it failed. */
import type { Deployment, Service, Task } from "@aws-sdk/client-ecs";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { Clock, Logger } from "../../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { type CallState, isCallState } from "../../../cloud/calls/provider-call.ts";
import type { LastLines } from "../../../cloud/deploy/last-lines.ts";
import { withoutSecrets } from "../../../cloud/deploy/pinned-secrets.ts";
import type { RetryOptions } from "../../call-policy.ts";
import { failureOfUnavailable } from "../../failures.ts";
import type { RolloutSecrets } from "../../secrets/secret-store.ts";
import type { Balancer } from "../balancer.ts";
import type { EcsServices } from "../ecs-calls.ts";
import { failureOfTask, isRefusedMount, isUnreadSecret } from "./stopped-task.ts";
import { failureOfChecks } from "./target-health.ts";

export interface VerdictDeps {
  readonly services: EcsServices;
  readonly balancer: Balancer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lastLines: LastLines;
  readonly secrets: RolloutSecrets;
  /** How long a log entry may take to become visible, in milliseconds. */
  readonly settleMillis: number;
}

/**
 * `starting`: no instance runs. `mounting`: no instance runs, because S3 Files rejects a mount that it may soon allow.
 * `reading`: no instance runs, because ECS cannot read a secret yet. `running`: instances run, but some are missing or
 * not healthy yet. `ready`: all instances run and are healthy.
 */
export type Progress = "starting" | "mounting" | "reading" | "running" | "ready";

export interface Candidate {
  readonly template: ServiceTemplate;
  readonly revision: string;
  /** ARN. */
  readonly group: string;
  /** Before this time, a rejected mount does not fail the revision. */
  readonly mountsUntil: Instant;
  /** Before this time, an unreadable secret does not fail the revision. */
  readonly secretsUntil: Instant;
}

const TAIL_LINES = 20;

const RESOURCES_DELETED: DeployFailure = {
  reason: "provider_unavailable",
  message: "The revision's resources were deleted or changed during the deploy. Deploy again.",
};

/**
 * Adds the revision's last log lines, without values of secrets, to a failure. If there are no lines yet, waits once
 * for late entries.
 */
export const withLastLines = async (
  { lastLines, secrets, settleMillis, clock }: VerdictDeps,
  { template: { owner, name, secrets: pins = {} }, revision }: Candidate,
  failure: DeployFailure,
  signal: AbortSignal | undefined,
): Promise<DeployFailure> => {
  const read = () => lastLines({ owner, service: name, revision }, signal);
  let lines = await read();
  if (lines.length === 0 && settleMillis > 0) {
    await clock.sleep(settleMillis, signal);
    lines = await read();
  }
  const own = lines.filter(({ system }) => !system).map(({ text }) => text);
  return withoutSecrets({ ...failure, logTail: own.slice(-TAIL_LINES) }, pins, () => secrets.values(owner, pins));
};

/** Maps the error of a failed call to a deploy failure. */
export const failureOfCall = (error: CallState | Unavailable): DeployFailure =>
  isCallState(error) ? RESOURCES_DELETED : failureOfUnavailable(error);

/**
 * Service events have no codes, only texts:
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-event-messages-list.html
 */
const LIMIT = /reached the limit on the number of/i;

const failureOfEvents = ({ events }: Service): DeployFailure | undefined =>
  events?.some(({ message }) => LIMIT.test(message ?? ""))
    ? { reason: "quota_exceeded", message: "The platform's Fargate quota is exhausted. Deploy again later." }
    : undefined;

/** Returns why the revision's targets are not healthy, with the status that the load balancer or ECS last reported. */
export const failedChecks = async (
  { services, balancer }: VerdictDeps,
  { template, revision, group }: Candidate,
  retry: RetryOptions,
): Promise<DeployFailure> => {
  if (template.health === undefined) return failureOfChecks(template, [], {});
  const targets = await balancer.health(group, retry);
  const service = await services.find(revision, retry);
  return failureOfChecks(template, targets.unwrapOr([]), service.unwrapOr(undefined) ?? {});
};

/**
 * Fails if a stopped task shows that the revision failed. Returns `mounting` or `reading` if AWS rejected the mounts or
 * the secrets of a stopped task but may soon allow them, and `starting` otherwise.
 */
const verdictOnStopped = async (
  deps: VerdictDeps,
  candidate: Candidate,
  retry: RetryOptions,
): Promise<Result<"mounting" | "reading" | "starting", DeployFailure>> => {
  const { services, clock, logger } = deps;
  const { revision, mountsUntil, secretsUntil } = candidate;
  const stopped = await services.stopped(revision, retry).mapErr(failureOfCall);
  if (stopped.isErr()) return err(stopped.error);
  const now = clock.now();
  const isMounting = (task: Task) => now < mountsUntil && isRefusedMount(task);
  const isReading = (task: Task) => now < secretsUntil && isUnreadSecret(task);
  const final = stopped.value.filter((task) => !isMounting(task) && !isReading(task));
  const failure = final.map(failureOfTask).find((one) => one !== undefined);
  if (failure !== undefined)
    logger.warn("tasks of a revision stopped", { revision, reasons: final.map(({ stoppedReason }) => stoppedReason) });
  if (failure === "failed_checks") return err(await failedChecks(deps, candidate, retry));
  if (failure !== undefined) return err(failure);
  if (final.length === stopped.value.length) return ok("starting");
  return ok(stopped.value.some(isMounting) ? "mounting" : "reading");
};

/**
 * Returns whether to look for stopped tasks. If enough tasks run, no search is necessary. ECS counts a stopped task as
 * failed only after a delay, and may have started another task by then.
 */
const mayHaveStopped = (
  { desiredCount = 1, runningCount = 0, pendingCount = 0 }: Service,
  primary: Deployment | undefined,
  listsTasks: boolean,
): boolean => {
  const isCounted = (primary?.failedTasks ?? 0) > 0 || runningCount + pendingCount < desiredCount;
  return primary?.rolloutState === "FAILED" || (runningCount < desiredCount && (isCounted || listsTasks));
};

/**
 * Returns `ready` once ECS reports the deployment as complete and the load balancer reports enough healthy targets.
 * Fails as soon as a task has failed, because ECS would only start another task. Also fails if the circuit breaker has
 * tripped, the Fargate quota is exhausted, or the service was deleted. A rejected mount counts as a failure only after
 * `mountsUntil`, and an unreadable secret only after `secretsUntil`.
 *
 * @param listsTasks whether to look for stopped tasks even if ECS counts enough tasks and no failed task
 */
export const verdictOn = async (
  deps: VerdictDeps,
  candidate: Candidate,
  listsTasks: boolean,
  retry: RetryOptions,
): Promise<Result<Progress, DeployFailure>> => {
  const { services, balancer, logger } = deps;
  const found = await services.find(candidate.revision, retry);
  if (found.isErr()) return err(failureOfCall(found.error));
  // "The Amazon ECS API follows an eventual consistency model" (API_RunTask): a new service may appear late.
  if (found.value === undefined) return ok("starting");
  if (found.value.status !== "ACTIVE") return err(RESOURCES_DELETED);
  const { desiredCount = 1, runningCount = 0, deployments = [] } = found.value;
  const primary = deployments.find(({ status }) => status === "PRIMARY");
  const hasFailed = primary?.rolloutState === "FAILED";
  if (mayHaveStopped(found.value, primary, listsTasks)) {
    const stopped = await verdictOnStopped(deps, candidate, retry);
    if (stopped.isErr()) return err(await withLastLines(deps, candidate, stopped.error, retry.signal));
    if (stopped.value !== "starting" && runningCount === 0) return stopped;
  }
  const limited = failureOfEvents(found.value);
  if (limited !== undefined || hasFailed) {
    const { rolloutStateReason: reason } = primary ?? {};
    logger.warn("ECS did not start a revision", { revision: candidate.revision, reason });
    if (limited !== undefined) return err(limited);
    return err(await withLastLines(deps, candidate, await failedChecks(deps, candidate, retry), retry.signal));
  }
  if (runningCount === 0) return ok("starting");
  if (primary?.rolloutState !== "COMPLETED") return ok("running");
  const health = await balancer.health(candidate.group, retry);
  if (health.isErr()) return err(failureOfCall(health.error));
  const healthy = health.value.filter(({ TargetHealth }) => TargetHealth?.State === "healthy");
  return ok(healthy.length >= desiredCount && runningCount >= desiredCount ? "ready" : "running");
};
