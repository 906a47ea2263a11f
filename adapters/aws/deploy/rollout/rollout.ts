/**
 * Performs one rollout. Creates a revision with its own service and target group next to the serving revision. Once the
 * new revision is ready and may serve, the listener's rule forwards to it. Until then, the serving revision is
 * unchanged.
 *
 * Conditional writes record each step: `rolling`, then `moving`, then `moved` or `ended`. Each write depends on the
 * previous one and has a deadline, so the next deploy can repair the state after a crash of the control plane. Changes
 * to the rule itself cannot be conditional. If a writer died while it moved traffic, the next writer first tries to
 * remove the dead writer's revision. If the rule already forwards to the revision, the revision stays and serves.
 * Otherwise, the next writer deletes the revision's target group, and no rule can forward to the revision afterwards.
 */
import { type DeployFailure, isLost } from "../../../../core/domain/deploy/reason.ts";
import type { RolloutEvent, RolloutRequest } from "../../../../core/ports/service-platform.ts";
import { waitUntilReachable } from "../../../cloud/calls/wait-until-reachable.ts";
import { failed, INTERRUPTED } from "../../../shared/deploy/rollout-ends.ts";
import { urlOf } from "../records/names.ts";
import { failRollout, resolveUncertainWrite } from "./abandon.ts";
import { awaitReady } from "./await-ready.ts";
import { beginRollout } from "./begin-rollout.ts";
import { createRevision } from "./create-revision.ts";
import { failureOfRule } from "./listener-rule.ts";
import { moveTraffic } from "./move-traffic.ts";
import { prepare } from "./prepare.ts";
import { type ReportProgress, RolloutAttempt, type RolloutDeps } from "./rollout-attempt.ts";

const REACH_TIMEOUT_MS = 30_000;

/**
 * Returns a failure if the deployment's URL does not accept connections. The load balancer accepts them even before it
 * forwards requests to the deployment.
 */
const checkUrl = async ({ deps, request, signal }: RolloutAttempt): Promise<DeployFailure | undefined> => {
  const url = urlOf(deps.location.shared, request.template.name);
  const isReachable = await waitUntilReachable(url, REACH_TIMEOUT_MS, deps.clock, signal);
  if (isReachable) return undefined;
  if (signal.aborted) return INTERRUPTED;
  return {
    reason: "rollout_timeout",
    message: `The revision is ready, but ${url} does not accept connections. The operator can check the DNS record of the domain and the load balancer's security group.`,
  };
};

/** Throws only on a bug. */
export const rollOut = async (
  deps: RolloutDeps,
  request: RolloutRequest,
  signal: AbortSignal,
  report: ReportProgress,
): Promise<RolloutEvent> => {
  const { template, listenDeadlineMs, mayServe } = request;
  const prepared = await prepare(deps, template, { signal });
  if (signal.aborted) return failed(INTERRUPTED);
  if (prepared.isErr()) return failed(prepared.error);

  const attempt = new RolloutAttempt(deps, request, signal);
  const { revision, write } = attempt;
  const begun = await beginRollout(attempt);
  if (begun.isErr()) return isLost(begun.error) ? failed(begun.error) : resolveUncertainWrite(attempt, begun.error);
  const record = begun.value;
  const [former] = record.former;

  report(`Starting revision ${revision}`);
  const newRevision = { ...prepared.value, revision, write, template, listenDeadlineMs, former };
  const created = await createRevision(deps, newRevision, attempt.left());
  if (created.isErr()) return failRollout(attempt, record, created.error);
  const { group, placeholderRule } = created.value;
  attempt.placeholderRule = placeholderRule;
  const ready = await awaitReady(attempt, record, group, report);
  if (ready.isErr()) return failRollout(attempt, record, ready.error);

  report("The revision is ready");
  const unreachable = await checkUrl(attempt);
  if (unreachable !== undefined) return failRollout(attempt, record, unreachable);
  const rejection = await mayServe?.();
  if (rejection !== undefined) return failRollout(attempt, record, rejection);
  const scaled = await deps.scaling.set(revision, group, template, attempt.left());
  if (scaled.isErr()) return failRollout(attempt, record, failureOfRule(scaled.error));
  if (signal.aborted) return failRollout(attempt, record, INTERRUPTED);
  return moveTraffic(attempt, record, group, report);
};
