/**
 * Conditional writes. The port's etag names a rollout's last write. The record stores it, because the object's own ETag
 * changes with every note too. A write reads the record, compares the port's etag, and writes with the ETag of that
 * same read. If S3 reports a change since the read, it starts over. So the comparison holds at the moment of the write:
 * a concurrent change was a note, or it makes the next comparison fail.
 *
 * A write whose response was lost is found by its id and not repeated.
 */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Expected } from "../../../../core/domain/deploy/plan.ts";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { type Present, writeConflict } from "../../../../core/domain/volumes/write-condition.ts";
import { type Instant, millisOf, parseInstant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { Clock, Logger } from "../../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { NOBODY } from "../../../shared/accounts/account-digest.ts";
import { isCallState } from "../../../shared/calls/provider-call.ts";
import { failureOfUnavailable } from "../../failures.ts";
import type { RetryOptions } from "../../state-bucket.ts";
import type { Balancer } from "../balancer.ts";
import { routedTo } from "../retire.ts";
import { failureOfCall } from "../rollout/verdict.ts";
import { hostOf } from "./names.ts";
import { etagOf, type HeldRecord, type RevisionTemplate } from "./record.ts";
import type { Found, Records } from "./records.ts";
import { type EcsLocation, isInDoubt, isMoving, isRemoved, knownOf, servingOf } from "./service.ts";

export interface WriteDeps {
  readonly records: Records;
  readonly balancer: Balancer;
  readonly location: EcsLocation;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const heldIn = (found: Found): HeldRecord | undefined =>
  found.kind === "ours" && found.record.kind === "held" ? found.record : undefined;

/** The state of a name, for a write that starts a rollout or, with `isLaterWrite`, continues one. */
export const presentOf = (found: Found, now: Instant, isLaterWrite = false): Present => {
  if (found.kind === "none") return { kind: "free" };
  if (found.kind === "foreign") return { kind: "reserved", owner: NOBODY };
  const { record } = found;
  if (record.kind === "freed") {
    const until = parseInstant(record.until);
    return until !== undefined && until > now ? { kind: "reserved", owner: record.owner } : { kind: "free" };
  }
  const { owner } = record.attempted;
  // A removal in progress makes every rollout lose. A removal whose process has died does not block new rollouts.
  if (isLaterWrite ? record.removing !== null : isRemoved(record, now)) return { kind: "reserved", owner };
  return { kind: "held", owner, etag: etagOf(record) };
};

/** Returns the revisions with traffic, by the record or, if in doubt, by the listener's rule. */
export const serving = async (
  { balancer, location, clock }: Pick<WriteDeps, "balancer" | "location" | "clock">,
  record: HeldRecord,
  retry: RetryOptions = {},
): Promise<Result<readonly RevisionTemplate[], Unavailable>> => {
  if (!isInDoubt(record, clock.now())) return ok(servingOf(record));
  const rules = await balancer.rules(retry);
  if (rules.isErr()) {
    if (isCallState(rules.error)) throw rules.error.error;
    return err(rules.error);
  }
  const known = knownOf(record);
  const id = routedTo(
    rules.value,
    hostOf(location.shared, record.attempted.name),
    known.map((one) => one.id),
  );
  return ok(known.filter((one) => one.id === id));
};

/** Each attempt may collide with a note; so many collisions in a row mean another problem. */
const TRIES = 20;
const PAUSE_MS = 50;

export interface ConditionalWrite {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly expected: Expected;
  /** The id that the record gets in `state.write`. */
  readonly write: string;
  /** True for a later write of a rollout. */
  readonly isLaterWrite?: boolean;
  readonly change: (seen: Found) => Promise<Result<HeldRecord, DeployFailure>> | Result<HeldRecord, DeployFailure>;
}

/** Waits until the writer that moves traffic has recorded the result, or counts as dead. */
const waitForWriter = async ({ clock }: WriteDeps, record: HeldRecord, { signal }: RetryOptions): Promise<void> => {
  const left = millisOf(parseInstant(record.state.until) ?? clock.now()) - millisOf(clock.now());
  await clock.sleep(Math.min(Math.max(left, PAUSE_MS), 1000), signal);
};

/** Returns the record if the write is already applied, the failure if the write has lost, and undefined otherwise. */
const outcomeOf = (
  { owner, expected, write, isLaterWrite = false }: ConditionalWrite,
  seen: Found,
  now: Instant,
): Result<HeldRecord, DeployFailure> | undefined => {
  const held = heldIn(seen);
  if (held?.state.write === write && held.removing === null) return ok(held);
  const lost = writeConflict(owner, expected, presentOf(seen, now, isLaterWrite));
  return lost === undefined ? undefined : err(lost);
};

/** Returns the current record once the write is applied. */
export const writeConditionally = async (
  deps: WriteDeps,
  conditionalWrite: ConditionalWrite,
  retry: RetryOptions = {},
): Promise<Result<HeldRecord, DeployFailure>> => {
  const { records, clock } = deps;
  const { name, change, isLaterWrite = false } = conditionalWrite;
  for (let tries = 0; tries < TRIES; ) {
    // The second attempt follows immediately; later ones back off.
    if (tries > 1) await clock.sleep(PAUSE_MS * tries, retry.signal);
    const read = await records.read(name, retry);
    if (read.isErr()) return err(failureOfUnavailable(read.error));
    const seen = read.value;
    const decided = outcomeOf(conditionalWrite, seen, clock.now());
    if (decided !== undefined) return decided;
    const held = heldIn(seen);
    if (!isLaterWrite && held !== undefined && isMoving(held, clock.now()) && retry.signal?.aborted !== true) {
      await waitForWriter(deps, held, retry);
      continue;
    }
    tries += 1;
    const changed = await change(seen);
    if (changed.isErr()) return err(changed.error);
    const written = await records.write(name, changed.value, seen, retry);
    if (written.isOk()) return ok(changed.value);
    if (!isCallState(written.error)) return err(failureOfUnavailable(written.error));
    if (written.error.code === "invalid" || written.error.code === "exists") throw written.error.error;
  }
  return err({
    reason: "provider_unavailable",
    message: "Too many concurrent changes of the service. Deploy again.",
  });
};

/**
 * Changes fields outside the rollout's state, which does not change the port's etag. Writes nothing if `change` returns
 * undefined.
 */
export const amend = async (
  { records, clock }: Pick<WriteDeps, "records" | "clock">,
  name: DeploymentName,
  change: (record: HeldRecord) => HeldRecord | undefined,
  retry: RetryOptions = {},
): Promise<Result<void, DeployFailure>> => {
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 1) await clock.sleep(PAUSE_MS * tries, retry.signal);
    const read = await records.read(name, retry);
    if (read.isErr()) return err(failureOfUnavailable(read.error));
    const held = heldIn(read.value);
    const next = held === undefined ? undefined : change(held);
    if (next === undefined) return ok(undefined);
    const written = await records.write(name, next, read.value, retry);
    if (written.isOk()) return ok(undefined);
    if (!isCallState(written.error)) return err(failureOfCall(written.error));
  }
  return err({ reason: "provider_unavailable", message: "Too many concurrent changes of the service. Try again." });
};
