/** Determines whether a revision is ready, or why it failed. */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { Clock } from "../../../core/ports/system.ts";
import type { LastLines, RevisionScope } from "../../cloud/deploy/last-lines.ts";
import { failureOfUnavailable } from "../failures.ts";
import { failureOfConditions, failureOfHealthCheck, isHealthCheck, showsContainerEnd } from "./conditions.ts";
import type { RunService } from "./render.ts";
import type { RetryOptions, RunServices } from "./services.ts";

export interface VerdictDeps {
  readonly services: RunServices;
  readonly clock: Clock;
  readonly lastLines: LastLines;
  /** How long a log entry may take to become visible, in milliseconds. */
  readonly settleMillis: number;
}

/** Determines from the log why a container failed its health check. */
const lastLinesMessage = async (
  { lastLines, settleMillis, clock }: VerdictDeps,
  scope: RevisionScope,
  template: ServiceTemplate,
  signal: AbortSignal | undefined,
): Promise<DeployFailure> => {
  const lines = await lastLines(scope, signal);
  if (showsContainerEnd(lines) || settleMillis <= 0) return failureOfHealthCheck(lines, template);
  // The last lines may not be visible yet.
  await clock.sleep(settleMillis, signal);
  return failureOfHealthCheck(await lastLines(scope, signal), template);
};

/**
 * Returns undefined while the outcome is unknown. The service's conditions do not suffice, because they also cover the
 * revisions with traffic; the revision's own condition "Ready" must agree.
 */
export const verdictOn = async (
  deps: VerdictDeps,
  template: ServiceTemplate,
  revision: string,
  run: RunService,
  retry: RetryOptions,
): Promise<DeployFailure | "ready" | undefined> => {
  const { name, owner } = template;
  // `observedGeneration` is unsuitable: it stays behind after a failure (`reconciling`, run/v2/service.proto).
  if (run.reconciling === true) return undefined;
  const conditions = await deps.services.conditions(name, revision, retry);
  if (conditions.isErr()) return failureOfUnavailable(conditions.error);
  const ready = conditions.value.find(({ type }) => type === "Ready");
  const isFailed = [ready, run.terminalCondition].some((one) => one?.state === "CONDITION_FAILED");
  if (!isFailed) return ready?.state === "CONDITION_SUCCEEDED" ? "ready" : undefined;
  const failure = failureOfConditions([...conditions.value, ...(run.conditions ?? []), run.terminalCondition ?? {}]);
  if (!isHealthCheck(failure)) return failure;
  return lastLinesMessage(deps, { owner, service: name, revision }, template, retry.signal);
};
