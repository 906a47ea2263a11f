/**
 * Records the release of a ready revision, and points the listener's rule at the revision. From here on, an abort does
 * not stop the rollout.
 */
import { isLost } from "../../../../core/domain/deploy/reason.ts";
import type { Release } from "../../../../core/domain/deploy/releases/release.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import { okAsync } from "../../../../core/result.ts";
import { failed } from "../../../shared/deploy/rollout-ends.ts";
import type { Step } from "../../failures.ts";
import { tagsOf } from "../records/names.ts";
import type { HeldRecord } from "../records/record.ts";
import { entryOf } from "../records/releases.ts";
import { routedTo } from "../retire.ts";
import { abandonRevision, failRollout, resolveUncertainWrite } from "./abandon.ts";
import { completeRollout } from "./complete-rollout.ts";
import { ensureRule, failureOfRule } from "./listener-rule.ts";
import {
  FINAL_RETRY_TIMEOUT_MS,
  RETRY_TIMEOUT_MS,
  type ReportProgress,
  type RolloutAttempt,
} from "./rollout-attempt.ts";

const retry = { timeoutMs: RETRY_TIMEOUT_MS };

/** Routes all requests for the host to the group. The former revisions' groups stay in the rule with weight 0. */
const route = ({ deps, request, revision, host }: RolloutAttempt, group: string): Step<void> => {
  const tags = tagsOf({ ...request.template, revision });
  return ensureRule(deps, { host, group, tags }, retry).andThen(({ arn, targets }) => {
    // A rule without targets was edited manually, for example to return a fixed response.
    if (targets.length > 0 && targets.every((one) => one.group === group)) return okAsync(undefined);
    const others = targets.filter((one) => one.group !== group && one.weight > 0);
    const newTargets = [{ group, weight: 1 }, ...others.map((one) => ({ group: one.group, weight: 0 }))];
    return deps.balancer.forward(arn, newTargets, retry).mapErr(failureOfRule);
  });
};

/** Returns whether the revision gets the host's requests. Returns undefined if the rules are not readable. */
const isRouted = async ({ deps, revision, host }: RolloutAttempt): Promise<boolean | undefined> => {
  const rules = await deps.balancer.rules({ timeoutMs: FINAL_RETRY_TIMEOUT_MS });
  return rules.isErr() ? undefined : routedTo(rules.value, host, [revision]) !== undefined;
};

const releaseOf = ({ deps, request, revision }: RolloutAttempt, { uid, released }: HeldRecord): Release => ({
  ...request.origin,
  release: released + 1,
  uid,
  revision,
  createdAt: timestampOf(deps.clock.now()),
  template: request.template,
});

/** @param group the ARN of the revision's target group */
export const moveTraffic = async (
  attempt: RolloutAttempt,
  record: HeldRecord,
  group: string,
  report: ReportProgress,
): Promise<RolloutEvent> => {
  const { deps, revision } = attempt;
  const release = releaseOf(attempt, record);
  const stored = await deps.releases.write(release, retry);
  if (stored.isErr()) return failRollout(attempt, record, failureOfRule(stored.error));
  const listed = { released: release.release, releases: [...record.releases, entryOf(release)] };
  const moving = await attempt.writeStep(record, "moving", listed, retry);
  if (moving.isErr()) {
    if (!isLost(moving.error)) return resolveUncertainWrite(attempt, moving.error);
    const removed = await deps.releases.remove(record.uid, revision, { timeoutMs: FINAL_RETRY_TIMEOUT_MS });
    if (removed.isErr()) deps.logger.warn("the release of a superseded rollout was not removed", { revision });
    return abandonRevision(attempt, moving.error);
  }
  const routed = await route(attempt, group);
  if (routed.isErr()) {
    const isServing = await isRouted(attempt);
    // The outcome is unknown. After the record's deadline (`until`), the next reader determines the outcome.
    if (isServing === undefined) return failed(routed.error);
    if (!isServing) return failRollout(attempt, moving.value, routed.error);
  }
  return completeRollout(attempt, moving.value, report);
};
