/** Polls a revision until it is ready, has failed or times out. */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { type Instant, plusMillis } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { backoff } from "../../../cloud/calls/backoff.ts";
import { INTERRUPTED } from "../../../shared/deploy/rollout-ends.ts";
import type { HeldRecord } from "../records/record.ts";
import type { ReportProgress, RolloutAttempt } from "./rollout-attempt.ts";
import { failedChecks, type Progress, verdictOn, withLastLines } from "./verdict.ts";

const TOO_SLOW: DeployFailure = {
  reason: "rollout_timeout",
  message: "ECS did not finish the rollout within its time limit. Deploy again.",
};

/**
 * The pauses between polls grow quickly, because all rollouts share the account's rate limits, and a start on Fargate
 * takes a minute or more.
 */
const FIRST_POLL_MS = 300;
const MAX_POLL_MS = 10_000;
const POLL_GROWTH = 3;
/**
 * Milliseconds between checks for two rare events: another writer has changed the record (the next write would also
 * detect this), or a task has stopped but ECS does not count it as failed.
 */
const RARE_CHECK_MS = 20_000;

const messages: Readonly<Partial<Record<Progress, string>>> = {
  mounting: "S3 Files does not allow a mount yet; waiting for the permission",
  reading: "ECS cannot read a secret yet; waiting for the permission",
  running: "The service has started; waiting until it responds",
};

/** Reports each stage once. */
const stageReporter = (report: ReportProgress): ((stage: Progress) => void) => {
  const reported = new Set<Progress>();
  return (stage) => {
    const message = messages[stage];
    if (message !== undefined && !reported.has(stage)) report(message);
    reported.add(stage);
  };
};

/** Returns a function that returns true if `RARE_CHECK_MS` have passed since it last returned true. */
const rarely = (clock: Clock): (() => boolean) => {
  let next = plusMillis(clock.now(), RARE_CHECK_MS);
  return () => {
    const now = clock.now();
    const isDue = now >= next;
    if (isDue) next = plusMillis(now, RARE_CHECK_MS);
    return isDue;
  };
};

/**
 * Succeeds once the revision is ready. Fails if the revision fails or does not listen in time, if another writer has
 * changed the record, on an abort, or at the rollout's deadline.
 *
 * @param group the ARN of the revision's target group
 */
export const awaitReady = async (
  attempt: RolloutAttempt,
  record: HeldRecord,
  group: string,
  report: ReportProgress,
): Promise<Result<void, DeployFailure>> => {
  const { deps, request, revision, signal, end } = attempt;
  const { template, listenDeadlineMs } = request;
  const { mountsUntil, secretsUntil } = attempt;
  const candidate = { template, revision, group, mountsUntil, secretsUntil };
  let listensUntil: Instant | undefined;
  const reportStage = stageReporter(report);
  const isRareCheck = rarely(deps.clock);
  for (const pause of backoff(FIRST_POLL_MS, MAX_POLL_MS, POLL_GROWTH)) {
    const isRare = isRareCheck();
    const lost = isRare ? await attempt.lost(record) : undefined;
    if (signal.aborted) return err(INTERRUPTED);
    if (lost !== undefined) return err(lost);
    const verdict = await verdictOn(deps, candidate, isRare, attempt.left());
    if (signal.aborted) return err(INTERRUPTED);
    if (verdict.isErr()) return err(verdict.error);
    if (verdict.value === "ready") return ok(undefined);
    const now = deps.clock.now();
    reportStage(verdict.value);
    if (verdict.value === "running") listensUntil ??= plusMillis(now, listenDeadlineMs);
    if (listensUntil !== undefined && now >= listensUntil)
      return err(await withLastLines(deps, candidate, await failedChecks(deps, candidate, attempt.left()), signal));
    if (now >= end) break;
    await deps.clock.sleep(pause, signal);
  }
  return err(TOO_SLOW);
};
