/**
 * The first write of a rollout. It claims the name and makes the template visible. Takes over from an attempt that died
 * while it moved traffic (`rollout.ts` explains why that is safe).
 */
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import { err, ok } from "../../../../core/result.ts";
import { failureOfUnavailable } from "../../failures.ts";
import type { HeldRecord, RevisionTemplate } from "../records/record.ts";
import type { Found } from "../records/records.ts";
import { knownOf } from "../records/service.ts";
import { amend, heldIn, serving, writeConditionally } from "../records/writes.ts";
import { retire } from "../retire.ts";
import { failRollout } from "./abandon.ts";
import { failureOfRule, isTaken } from "./listener-rule.ts";
import type { RolloutAttempt, Step } from "./rollout-attempt.ts";

/** Claims an unused name. */
const claim = async (attempt: RolloutAttempt): Step<void> => {
  const { balancer, records } = attempt.deps;
  const { name, owner } = attempt.request.template;
  const rules = await balancer.rules(attempt.left());
  if (rules.isErr()) return err(failureOfRule(rules.error));
  if (isTaken(rules.value, attempt.host))
    return err({
      reason: "name_taken",
      message: "Another application's rule on the load balancer uses this name. Choose another name.",
    });
  // Written before the record, so that a listing never misses a deployment.
  const pointed = await records.point(owner, name, attempt.left());
  return pointed.isErr() ? err(failureOfRule(pointed.error)) : ok(undefined);
};

interface FirstRecord {
  readonly record: HeldRecord;
  /** An earlier attempt that died while it moved traffic. */
  readonly unfinished: RevisionTemplate | undefined;
}

const firstRecordOver = async (attempt: RolloutAttempt, seen: Found): Step<FirstRecord> => {
  const { ids, clock } = attempt.deps;
  const before = heldIn(seen);
  const claimed = before === undefined ? await claim(attempt) : ok(undefined);
  if (claimed.isErr()) return err(claimed.error);
  const former = before === undefined ? ok([]) : await serving(attempt.deps, before, attempt.left());
  if (former.isErr()) return err(failureOfUnavailable(former.error));
  const known = before === undefined ? [] : knownOf(before);
  const idle = known.map(({ id }) => id).filter((id) => !former.value.some((one) => one.id === id));
  const hasMoved = (id: string) => before?.state.step === "moving" && before.state.revision === id;
  const record: HeldRecord = {
    kind: "held",
    uid: before?.uid ?? ids.id(),
    createdAt: before?.createdAt ?? timestampOf(clock.now()),
    state: attempt.state(attempt.write, "rolling", attempt.end),
    attempted: attempt.request.template,
    former: former.value,
    retired: [...new Set([...(before?.retired ?? []), ...idle])],
    removing: null,
    lastDeploy: before?.lastDeploy ?? null,
  };
  return ok({ record, unfinished: known.find(({ id }) => hasMoved(id) && idle.includes(id)) });
};

/**
 * Takes over from a writer that died or stalled while it moved traffic. Retiring its group settles the outcome: the
 * revision serves now, or never will.
 */
const takeOver = async (
  attempt: RolloutAttempt,
  record: HeldRecord,
  unfinished: RevisionTemplate,
): Step<HeldRecord> => {
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
  const known = { former: [unfinished], retired };
  // Applies to the current record, which may contain a new note or a removal's mark.
  const change = (now: HeldRecord) => (now.state.write === write ? { ...now, ...known } : undefined);
  return (await amend(deps, name, change, attempt.left())).map(() => ({ ...record, ...known }));
};

export const beginRollout = async (attempt: RolloutAttempt): Step<HeldRecord> => {
  const { expected, template } = attempt.request;
  const { name, owner } = template;
  let unfinished: RevisionTemplate | undefined;
  const change = async (seen: Found) => {
    const first = await firstRecordOver(attempt, seen);
    unfinished = first.isOk() ? first.value.unfinished : undefined;
    return first.map(({ record }) => record);
  };
  const wanted = { name, owner, expected, write: attempt.write, change };
  const begun = await writeConditionally(attempt.deps, wanted, attempt.left());
  if (begun.isErr() || unfinished === undefined) return begun;
  return takeOver(attempt, begun.value, unfinished);
};
