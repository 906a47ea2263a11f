/** Completes a rollout whose traffic has moved: records the move, and removes the former revisions. */

import { isLost } from "../../../../core/domain/deploy/reason.ts";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import { errAsync } from "../../../../core/result.ts";
import { failed } from "../../../shared/deploy/rollout-ends.ts";
import type { Step } from "../../failures.ts";
import { urlOf } from "../records/names.ts";
import type { HeldRecord } from "../records/record.ts";
import { retained } from "../records/releases.ts";
import { sweep } from "../sweep.ts";
import { RETRY_TIMEOUT_MS, type ReportProgress, type RolloutAttempt } from "./rollout-attempt.ts";

/** Milliseconds that a replaced revision may take to finish its requests before the deploy continues anyway. */
const DRAIN_TIMEOUT_MS = 30_000;
const TRIES = 3;
/** Calls of a clean-up may wait longer for the rate limits than other calls, because the rollout has succeeded. */
const SWEEP = { timeoutMs: RETRY_TIMEOUT_MS, turnMs: 5 * 60_000 } as const;

type MovedChange = Pick<HeldRecord, "retired" | "releases">;

/** Records that traffic has moved. Retries, because the record would otherwise contradict the listener's rule. */
const recordMoved = (
  attempt: RolloutAttempt,
  moving: HeldRecord,
  change: MovedChange,
  tries = TRIES,
): Step<HeldRecord> =>
  attempt
    .writeStep(moving, "moved", { ...change, former: [] }, { timeoutMs: RETRY_TIMEOUT_MS })
    .orElse((error) =>
      isLost(error) || tries === 1 ? errAsync(error) : recordMoved(attempt, moving, change, tries - 1),
    );

/**
 * Deletes the rule early, because the number of rules per listener is limited. If this fails, the rule is deleted
 * together with its revision.
 */
const deletePlaceholderRule = async ({ deps, placeholderRule, revision }: RolloutAttempt): Promise<void> => {
  if (placeholderRule === undefined) return;
  const dropped = await deps.balancer.deleteRule(placeholderRule, { timeoutMs: RETRY_TIMEOUT_MS });
  if (dropped.isErr()) deps.logger.warn("an unused listener rule was not deleted", { revision });
};

/** @param moving the record in step `moving` */
export const completeRollout = async (
  attempt: RolloutAttempt,
  moving: HeldRecord,
  report: ReportProgress,
): Promise<RolloutEvent> => {
  const { deps, request, revision } = attempt;
  const replaced = [...new Set([...moving.retired, ...moving.former.map(({ id }) => id)])];
  const { releases, dropped } = retained(moving.releases, deps.releasesKept);
  const moved = await recordMoved(attempt, moving, { retired: [...replaced, ...dropped], releases });
  if (moved.isErr()) return failed(moved.error);
  await deletePlaceholderRule(attempt);
  if (replaced.length > 0) report("Stopping the previous revision");
  await sweep(attempt, moved.value, DRAIN_TIMEOUT_MS, SWEEP);
  return { kind: "ready", revision, url: urlOf(deps.location.shared, request.template.name) };
};
