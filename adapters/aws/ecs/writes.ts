/**
 * Conditional writes. The port's etag names the last write of a rollout and is kept in the record, because the object's
 * own changes with every note as well. A write reads the record, compares the port's etag, and writes with the object's
 * etag of that very read; where S3 says that it changed in between, it reads again. So the comparison holds at the moment
 * of the write: whatever came in between was a note, or makes the next comparison fail.
 *
 * A write whose answer was lost is found by its own id and not made twice.
 */
import type { AccountId } from "../../../core/domain/account.ts";
import type { Expected } from "../../../core/domain/deploy-plan.ts";
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import { type Instant, millisOf, parseInstant } from "../../../core/domain/instant.ts";
import type { DeploymentName } from "../../../core/domain/names.ts";
import { type Present, writeConflict } from "../../../core/domain/write-condition.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { NOBODY } from "../../shared/account-digest.ts";
import { isCallState } from "../../shared/provider-call.ts";
import { failureOfUnavailable } from "../failures.ts";
import type { Patience } from "../state-bucket.ts";
import type { Balancer } from "./balancer.ts";
import { hostOf } from "./names.ts";
import { etagOf, type HeldRecord, type RevisionTemplate } from "./record.ts";
import type { Found, Records } from "./records.ts";
import { routedTo } from "./retire.ts";
import { isInDoubt, isMoving, isRemoved, knownOf, type Place, servingOf } from "./service.ts";
import { failureOfCall } from "./verdict.ts";

export interface WriteDeps {
  readonly records: Records;
  readonly balancer: Balancer;
  readonly place: Place;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const heldIn = (found: Found): HeldRecord | undefined =>
  found.kind === "ours" && found.record.kind === "held" ? found.record : undefined;

/** What stands under a name, for a write that begins something; `isGoingOn`: for a later one of the same rollout. */
export const presentOf = (found: Found, now: Instant, isGoingOn = false): Present => {
  if (found.kind === "none") return { kind: "free" };
  if (found.kind === "foreign") return { kind: "reserved", owner: NOBODY };
  const { record } = found;
  if (record.kind === "freed") {
    const until = parseInstant(record.until);
    return until !== undefined && until > now ? { kind: "reserved", owner: record.owner } : { kind: "free" };
  }
  const { owner } = record.attempted;
  // Who removes it makes every rollout of it lose; one that died while it did stands in nobody's way.
  if (isGoingOn ? record.removing !== null : isRemoved(record, now)) return { kind: "reserved", owner };
  return { kind: "held", owner, etag: etagOf(record) };
};

/** What has traffic: by the record, or where it is in doubt by the listener's rule. */
export const serving = async (
  { balancer, place, clock }: Pick<WriteDeps, "balancer" | "place" | "clock">,
  record: HeldRecord,
  patience: Patience = {},
): Promise<Result<readonly RevisionTemplate[], Unavailable>> => {
  if (!isInDoubt(record, clock.now())) return ok(servingOf(record));
  const rules = await balancer.rules(patience);
  if (rules.isErr()) {
    if (isCallState(rules.error)) throw rules.error.error;
    return err(rules.error);
  }
  const known = knownOf(record);
  const id = routedTo(
    rules.value,
    hostOf(place.shared, record.attempted.name),
    known.map((one) => one.id),
  );
  return ok(known.filter((one) => one.id === id));
};

/** Somebody else's note may come in between each time; more often than that is no accident. */
const TRIES = 20;
const PAUSE_MS = 50;

export interface ConditionalWrite {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly expected: Expected;
  /** The id that the written record carries in `state.write`. */
  readonly write: string;
  /** A later write of a rollout that has begun. */
  readonly isGoingOn?: boolean;
  readonly change: (seen: Found) => Promise<Result<HeldRecord, DeployFailure>> | Result<HeldRecord, DeployFailure>;
}

/** Waits until whoever moves traffic has written down that it is done, or is known to be gone. */
const settle = async ({ clock }: WriteDeps, record: HeldRecord, { signal }: Patience): Promise<void> => {
  const left = millisOf(parseInstant(record.state.until) ?? clock.now()) - millisOf(clock.now());
  await clock.sleep(Math.min(Math.max(left, PAUSE_MS), 1000), signal);
};

/** What the record says about a write that is to be made: that it stands, that it lost, or nothing yet. */
const standingOf = (
  { owner, expected, write, isGoingOn = false }: ConditionalWrite,
  seen: Found,
  now: Instant,
): Result<HeldRecord, DeployFailure> | undefined => {
  const held = heldIn(seen);
  if (held?.state.write === write && held.removing === null) return ok(held);
  const lost = writeConflict(owner, expected, presentOf(seen, now, isGoingOn));
  return lost === undefined ? undefined : err(lost);
};

/** Ok: what was written stands, and this is it. */
export const writeConditionally = async (
  deps: WriteDeps,
  wanted: ConditionalWrite,
  patience: Patience = {},
): Promise<Result<HeldRecord, DeployFailure>> => {
  const { records, clock } = deps;
  const { name, change, isGoingOn = false } = wanted;
  for (let tries = 0; tries < TRIES; ) {
    // The second look follows at once; who meets others more often gives way.
    if (tries > 1) await clock.sleep(PAUSE_MS * tries, patience.signal);
    const read = await records.read(name, patience);
    if (read.isErr()) return err(failureOfUnavailable(read.error));
    const seen = read.value;
    const decided = standingOf(wanted, seen, clock.now());
    if (decided !== undefined) return decided;
    const held = heldIn(seen);
    if (!isGoingOn && held !== undefined && isMoving(held, clock.now()) && patience.signal?.aborted !== true) {
      await settle(deps, held, patience);
      continue;
    }
    tries += 1;
    const changed = await change(seen);
    if (changed.isErr()) return err(changed.error);
    const written = await records.write(name, changed.value, seen, patience);
    if (written.isOk()) return ok(changed.value);
    if (!isCallState(written.error)) return err(failureOfUnavailable(written.error));
    if (written.error.code === "invalid" || written.error.code === "exists") throw written.error.error;
  }
  return err({
    reason: "provider_unavailable",
    message: "The platform's state is busy with this service; deploy again.",
  });
};

/**
 * A change of what the record says beside the rollout's state, which leaves the port's etag as it is. Undefined from
 * `change`: nothing to write.
 */
export const amend = async (
  { records, clock }: Pick<WriteDeps, "records" | "clock">,
  name: DeploymentName,
  change: (record: HeldRecord) => HeldRecord | undefined,
  patience: Patience = {},
): Promise<Result<void, DeployFailure>> => {
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 1) await clock.sleep(PAUSE_MS * tries, patience.signal);
    const read = await records.read(name, patience);
    if (read.isErr()) return err(failureOfUnavailable(read.error));
    const held = heldIn(read.value);
    const next = held === undefined ? undefined : change(held);
    if (next === undefined) return ok(undefined);
    const written = await records.write(name, next, read.value, patience);
    if (written.isOk()) return ok(undefined);
    if (!isCallState(written.error)) return err(failureOfCall(written.error));
  }
  return err({ reason: "provider_unavailable", message: "The platform's state is busy with this service." });
};
