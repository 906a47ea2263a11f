/**
 * Makes the first write of a rollout, which claims the name and makes the template visible. Takes over from an attempt
 * that died while it moved traffic (`rollout.ts` explains why this is safe).
 */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import { err, ok, type Result, safeTry } from "../../../../core/result.ts";
import { failureOfUnavailable, type Step } from "../../failures.ts";
import type { HeldRecord, RevisionTemplate } from "../records/record.ts";
import type { Found } from "../records/records.ts";
import { entryOf, releasedIn, unrecordedRelease } from "../records/releases.ts";
import { knownOf } from "../records/service.ts";
import { amend, heldIn, reservedIn, serving, writeConditionally } from "../records/writes.ts";
import { retire } from "../retire.ts";
import { failRollout } from "./abandon.ts";
import { failureOfRule, isTaken } from "./listener-rule.ts";
import type { RolloutAttempt } from "./rollout-attempt.ts";

const NAME_TAKEN: DeployFailure = {
  reason: "name_taken",
  message: "Another application's rule on the load balancer uses this name. Choose another name.",
};

/** Claims an unused name. */
const claim = (attempt: RolloutAttempt): Step<void> =>
  safeTry(async function* () {
    const { balancer, records } = attempt.deps;
    const { name, owner } = attempt.request.template;
    const rules = yield* await balancer.rules(attempt.left()).mapErr(failureOfRule);
    if (isTaken(rules, attempt.host)) return err(NAME_TAKEN);
    // Written before the record, so that a listing never misses a deployment.
    return records
      .addToIndex(owner, name, attempt.left())
      .map(() => undefined)
      .mapErr(failureOfRule);
  });

interface Unfinished extends RevisionTemplate {
  /** The releases to record if this revision turns out to serve. */
  readonly releases: HeldRecord["releases"];
}

interface FirstRecord {
  readonly record: HeldRecord;
  /** An earlier attempt that died while it moved traffic. */
  readonly unfinished: Unfinished | undefined;
}

type Sequence = Pick<HeldRecord, "uid" | "released" | "releases">;

/**
 * Returns the deployment's uid, its highest release number in use, and its releases. If an earlier version of Portside
 * deployed the serving revision, first stores the missing release of that revision.
 */
const sequenceOver = (attempt: RolloutAttempt, seen: Found, former: HeldRecord["former"]): Step<Sequence> =>
  safeTry(async function* () {
    const { clock, ids, releases } = attempt.deps;
    const before = heldIn(seen);
    if (before === undefined) {
      const freed = reservedIn(seen, clock.now());
      return ok({ uid: freed?.uid ?? ids.id(), released: freed?.released ?? 0, releases: [] });
    }
    const { uid, released } = before;
    const listed = releasedIn(before, former);
    const unrecorded = unrecordedRelease(before, former);
    if (unrecorded === undefined) return ok({ uid, released, releases: listed });
    yield* await releases.write(unrecorded, attempt.left()).mapErr(failureOfUnavailable);
    return ok({ uid, released: unrecorded.release, releases: [...listed, entryOf(unrecorded)] });
  });

const firstRecordOver = (attempt: RolloutAttempt, seen: Found): Step<FirstRecord> =>
  safeTry(async function* () {
    const { clock } = attempt.deps;
    const before = heldIn(seen);
    if (before === undefined) yield* await claim(attempt);
    const former =
      before === undefined
        ? []
        : yield* await serving(attempt.deps, before, attempt.left()).mapErr(failureOfUnavailable);
    const known = before === undefined ? [] : knownOf(before);
    const idle = known.map(({ id }) => id).filter((id) => !former.some((one) => one.id === id));
    const sequence = yield* await sequenceOver(attempt, seen, former);
    const hasMoved = (id: string) => before?.state.step === "moving" && before.state.revision === id;
    const record: HeldRecord = {
      kind: "held",
      ...sequence,
      createdAt: before?.createdAt ?? timestampOf(clock.now()),
      balancer: before?.balancer ?? attempt.deps.balancerIndex,
      state: attempt.state(attempt.write, "rolling", attempt.end),
      attempted: attempt.request.template,
      former,
      retired: [...new Set([...(before?.retired ?? []), ...idle])],
      removing: null,
      lastDeploy: before?.lastDeploy ?? null,
    };
    const unfinished = known.find(({ id }) => hasMoved(id) && idle.includes(id));
    return ok({ record, unfinished: unfinished && { ...unfinished, releases: before?.releases ?? [] } });
  });

/**
 * Takes over from a writer that died or stalled while it moved traffic. The attempt to retire the writer's revision
 * decides the outcome: the revision already serves, or it never will.
 */
const takeOver = async (
  attempt: RolloutAttempt,
  record: HeldRecord,
  { releases, ...unfinished }: Unfinished,
): Promise<Result<HeldRecord, DeployFailure>> => {
  const { deps, host, write } = attempt;
  const { name, owner } = attempt.request.template;
  const fenced = await retire(deps, { owner, revision: unfinished.id, host, drain: 0 }, attempt.left());
  if (fenced.isErr()) {
    await failRollout(attempt, record, failureOfRule(fenced.error));
    return err(failureOfRule(fenced.error));
  }
  if (fenced.value === "deleted") return ok(record);
  const idle = record.former.map(({ id }) => id);
  const retired = [...record.retired.filter((id) => id !== unfinished.id), ...idle];
  const known = { former: [unfinished], retired, releases };
  // Since the first write of this rollout, other calls may have added a deploy's status or a removal's mark to the
  // record. Changing only these fields keeps both.
  const change = (now: HeldRecord) => (now.state.write === write ? { ...now, ...known } : undefined);
  return amend(deps, name, change, attempt.left()).map(() => ({ ...record, ...known }));
};

export const beginRollout = (attempt: RolloutAttempt): Step<HeldRecord> =>
  safeTry(async function* () {
    const { expected, template } = attempt.request;
    const { name, owner } = template;
    let unfinished: Unfinished | undefined;
    const change = async (seen: Found) => {
      const first = await firstRecordOver(attempt, seen);
      unfinished = first.isOk() ? first.value.unfinished : undefined;
      return first.map(({ record }) => record);
    };
    const conditionalWrite = { name, owner, expected, write: attempt.write, change };
    const begun = yield* await writeConditionally(attempt.deps, conditionalWrite, attempt.left());
    return unfinished === undefined ? ok(begun) : takeOver(attempt, begun, unfinished);
  });
