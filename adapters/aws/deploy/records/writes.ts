/**
 * Writes records conditionally. The port's etag identifies the last step of a rollout, and the record contains it. The
 * object's ETag cannot replace the port's etag, because every note of a deploy's status changes the object's ETag.
 *
 * A write reads the record, compares the port's etag, and then writes only if the object's ETag has not changed since
 * the read. Otherwise, it starts over. Therefore, the comparison still holds at the time of the write.
 *
 * If the response of a write is lost, the next attempt finds the write's id in the record and does not repeat the
 * write.
 */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Expected } from "../../../../core/domain/deploy/plan.ts";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { type Present, writeConflict } from "../../../../core/domain/volumes/write-condition.ts";
import { type Instant, millisOf, parseInstant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { Clock, Logger } from "../../../../core/ports/system.ts";
import { err, ok, okAsync, type Result, type ResultAsync, safeTry } from "../../../../core/result.ts";
import { type CallState, isCallState } from "../../../cloud/calls/provider-call.ts";
import { NOBODY } from "../../../shared/accounts/account-digest.ts";
import { isState, type RetryOptions, throwState } from "../../call-policy.ts";
import { failureOfUnavailable, type Step } from "../../failures.ts";
import type { Balancer } from "../balancer.ts";
import { routedTo } from "../retire.ts";
import { hostOf } from "./names.ts";
import { etagOf, type FreedRecord, type HeldRecord, type NameRecord, type RevisionTemplate } from "./record.ts";
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

/** Returns the record of a freed name that is still reserved. */
export const reservedIn = (found: Found, now: Instant): FreedRecord | undefined => {
  if (found.kind !== "ours" || found.record.kind !== "freed") return undefined;
  const until = parseInstant(found.record.until);
  return until !== undefined && until > now ? found.record : undefined;
};

/** The state of a name, for a write that starts a rollout or, with `isLaterWrite`, continues one. */
export const presentOf = (found: Found, now: Instant, isLaterWrite = false): Present => {
  if (found.kind === "none") return { kind: "free" };
  if (found.kind === "foreign") return { kind: "reserved", owner: NOBODY };
  const { record } = found;
  if (record.kind === "freed")
    return reservedIn(found, now) === undefined ? { kind: "free" } : { kind: "reserved", owner: record.owner };
  const { owner } = record.attempted;
  // A removal ends every rollout that has begun. It blocks new rollouts only until the removal's deadline.
  if (isLaterWrite ? record.removing !== null : isRemoved(record, now)) return { kind: "reserved", owner };
  return { kind: "held", owner, etag: etagOf(record) };
};

/** Returns the revisions with traffic, according to the record or, if it is in doubt, to the listener's rule. */
export const serving = (
  { balancer, location, clock }: Pick<WriteDeps, "balancer" | "location" | "clock">,
  record: HeldRecord,
  retry?: RetryOptions,
): ResultAsync<readonly RevisionTemplate[], Unavailable> => {
  if (!isInDoubt(record, clock.now())) return okAsync(servingOf(record));
  const known = knownOf(record);
  const revisions = known.map(({ id }) => id);
  return balancer
    .rules(retry)
    .mapErr(throwState)
    .map((rules) => routedTo(rules, hostOf(location.shared, record.attempted.name), revisions))
    .map((routed) => known.filter(({ id }) => id === routed));
};

/**
 * Maximum attempts. An attempt may collide with a note (`note-deploy.ts`), but notes do not cause this many collisions.
 */
const TRIES = 20;
const PAUSE_MS = 50;

/** Write this record, stop with a result, or wait and read the record again. */
export type Decision<R, T> = { readonly put: R } | { readonly stop: T } | { readonly waitMs: number };

/**
 * Writes the record that `decide` returns, and returns that record. Starts over if another call has changed the record
 * since the read. Fails with a `CallState` if that happens too often.
 *
 * @param pauseMs the pause per earlier attempt; the second attempt follows without a pause
 */
export const rewriteRecord = <R extends NameRecord, T, E>(
  { records, clock }: Pick<WriteDeps, "records" | "clock">,
  name: DeploymentName,
  decide: (found: Found) => Result<Decision<R, T>, E> | PromiseLike<Result<Decision<R, T>, E>>,
  retry: RetryOptions,
  pauseMs: number,
): ResultAsync<R | T, E | CallState | Unavailable> =>
  safeTry<R | T, E | CallState | Unavailable>(async function* () {
    for (let tries = 1; ; ) {
      const found = yield* await records.read(name, retry);
      const decision = yield* await decide(found);
      if ("stop" in decision) return ok(decision.stop);
      if ("waitMs" in decision) {
        await clock.sleep(decision.waitMs, retry.signal);
        continue;
      }
      const written = await records.write(name, decision.put, found, retry);
      if (written.isOk()) return ok(decision.put);
      if (tries === TRIES || !isState(written, "changed", "not_found")) return err(written.error);
      if (tries > 1 && pauseMs > 0) await clock.sleep(pauseMs * tries, retry.signal);
      tries += 1;
    }
  });

export interface ConditionalWrite {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly expected: Expected;
  /** The id that the record gets in `state.write`. */
  readonly write: string;
  /** True for a later write of a rollout. */
  readonly isLaterWrite?: boolean;
  readonly change: (seen: Found) => PromiseLike<Result<HeldRecord, DeployFailure>> | Result<HeldRecord, DeployFailure>;
}

/** Milliseconds to wait before checking again whether the writer that moves traffic has finished or has timed out. */
const waitMsOf = ({ state }: HeldRecord, now: Instant): number =>
  Math.min(Math.max(millisOf(parseInstant(state.until) ?? now) - millisOf(now), PAUSE_MS), 1000);

/** Applies the write, and returns the written record. */
export const writeConditionally = (
  deps: WriteDeps,
  { name, owner, expected, write, isLaterWrite = false, change }: ConditionalWrite,
  retry: RetryOptions = {},
): Step<HeldRecord> => {
  const decide = async (seen: Found): Promise<Result<Decision<HeldRecord, HeldRecord>, DeployFailure>> => {
    const now = deps.clock.now();
    const held = heldIn(seen);
    if (held?.state.write === write && held.removing === null) return ok({ stop: held });
    const lost = writeConflict(owner, expected, presentOf(seen, now, isLaterWrite));
    if (lost !== undefined) return err(lost);
    if (!isLaterWrite && held !== undefined && isMoving(held, now) && retry.signal?.aborted !== true)
      return ok({ waitMs: waitMsOf(held, now) });
    return (await change(seen)).map((put) => ({ put }));
  };
  return rewriteRecord(deps, name, decide, retry, PAUSE_MS).mapErr((error) => {
    if ("reason" in error) return error;
    if (!isCallState(error)) return failureOfUnavailable(error);
    if (error.code === "invalid" || error.code === "exists") throw error.error;
    return { reason: "provider_unavailable", message: "Too many concurrent changes to the service. Deploy again." };
  });
};

/**
 * Changes fields other than the rollout's state, which leaves the port's etag unchanged. Writes nothing if the name has
 * no deployment or `change` returns undefined.
 */
export const amend = (
  deps: Pick<WriteDeps, "records" | "clock">,
  name: DeploymentName,
  change: (record: HeldRecord) => HeldRecord | undefined,
  retry: RetryOptions = {},
): Step<void> => {
  const decide = (found: Found): Result<Decision<HeldRecord, undefined>, never> => {
    const held = heldIn(found);
    const put = held === undefined ? undefined : change(held);
    return ok(put === undefined ? { stop: undefined } : { put });
  };
  return rewriteRecord(deps, name, decide, retry, PAUSE_MS)
    .map(() => undefined)
    .mapErr((error) => {
      if (!isCallState(error)) return failureOfUnavailable(error);
      return { reason: "provider_unavailable", message: "Too many concurrent changes to the service. Try again." };
    });
};
