/** Ends a rollout whose traffic has moved: records it, tries the URL, and removes the former revisions. */

import { isLost } from "../../../../core/domain/volumes/write-condition.ts";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import { failed } from "../../../shared/deploy/rollout-ends.ts";
import { urlOf } from "../records/names.ts";
import type { HeldRecord } from "../records/record.ts";
import { sweep } from "../sweep.ts";
import { type Attempt, RETRY_TIMEOUT_MS, type Say, type Step } from "./run-rollout.ts";

const REACH_MS = 30_000;
/** How long a replaced revision may finish its requests before the deploy continues anyway. */
const DRAIN_MS = 30_000;
const TRIES = 3;

/** Traffic has already moved, so retry the write. */
const writeDown = async (
  attempt: Attempt,
  moving: HeldRecord,
  retired: readonly string[],
  tries = TRIES,
): Step<HeldRecord> => {
  const moved = await attempt.goOn(moving, "moved", { former: [], retired }, { timeoutMs: RETRY_TIMEOUT_MS });
  const isOver = moved.isOk() || isLost(moved.error) || tries === 1;
  return isOver ? moved : writeDown(attempt, moving, retired, tries - 1);
};

/** A listener has room for few rules. If this deletion fails, the rule is removed with its revision. */
const dropHeldRule = async ({ deps, heldRule, revision }: Attempt): Promise<void> => {
  if (heldRule === undefined) return;
  const dropped = await deps.balancer.dropRule(heldRule, { timeoutMs: RETRY_TIMEOUT_MS });
  if (dropped.isErr()) deps.logger.warn("a rule that nobody needs was not taken away", { revision });
};

/** @param moving the record with step `moving` */
export const completeRollout = async (attempt: Attempt, moving: HeldRecord, say: Say): Promise<RolloutEvent> => {
  const { deps, request, revision } = attempt;
  const retired = [...new Set([...moving.retired, ...moving.former.map(({ id }) => id)])];
  const moved = await writeDown(attempt, moving, retired);
  if (moved.isErr()) return failed(moved.error);
  await dropHeldRule(attempt);
  const url = urlOf(deps.place.shared, request.template.name);
  const answers = await deps.reaches(url, REACH_MS, deps.clock);
  if (retired.length > 0) say("Ending the revision before it");
  await sweep(attempt, moved.value, DRAIN_MS, RETRY_TIMEOUT_MS);
  if (answers) return { kind: "ready", revision, url };
  return failed({ reason: "rollout_timeout", message: `The revision serves, and ${url} takes no connection.` });
};
