/**
 * Decides when an instance without requests is frozen and stopped, and which frozen instances stop early because
 * memory is short. Pure.
 */
import type { IdleMode } from "../../../core/domain/deploy/idle.ts";

export interface IdleRules {
  /** `freeze` pauses an idle instance before it stops, `stop` only stops it. */
  readonly idle: IdleMode;
  /** Milliseconds without a request after which an instance is frozen; for `stop`, after which it stops. */
  readonly idleMillis: number;
  /** Milliseconds without a request after which a frozen instance stops. */
  readonly stopAfterMillis: number;
}

export interface SleepStep {
  readonly action: "freeze" | "stop";
  /** Milliseconds since the end of the last request. */
  readonly afterMillis: number;
}

/** Returns the next step of an instance that gets no requests. The step after `stop` does not matter. */
export const nextSleepStep = (isFrozen: boolean, rules: IdleRules): SleepStep => {
  const { idle, idleMillis, stopAfterMillis } = rules;
  if (idle === "stop") return { action: "stop", afterMillis: idleMillis };
  if (isFrozen || stopAfterMillis <= idleMillis) return { action: "stop", afterMillis: stopAfterMillis };
  return { action: "freeze", afterMillis: idleMillis };
};

/** What an instance does. Times are in milliseconds since the epoch. */
export interface Activity {
  /** The number of open requests, streams and WebSocket connections. */
  readonly active: number;
  /** The end of the last request. */
  readonly idleSince: number;
  /** The end of its busy lease; in the past if it has none. */
  readonly busyUntil: number;
}

/** Whether the instance has requests or a busy lease. The platform neither freezes nor stops such an instance. */
export const isBusy = ({ active, busyUntil }: Pick<Activity, "active" | "busyUntil">, now: number): boolean =>
  active > 0 || busyUntil > now;

/** Returns when the next step of an instance without requests is due. A busy lease counts like a request. */
export const nextSleepAt = (
  { frozen, idleSince, busyUntil }: Pick<Activity, "idleSince" | "busyUntil"> & { readonly frozen: boolean },
  rules: IdleRules,
): number => Math.max(idleSince, busyUntil) + nextSleepStep(frozen, rules).afterMillis;

/** A frozen instance. */
export interface Sleeper {
  /** The end of the last request, in milliseconds since the epoch. */
  readonly idleSince: number;
  /** Bytes of memory that the instance holds. */
  readonly memory: number;
}

/** Returns the frozen instances in the order in which they stop early: the one with the oldest last request first. */
export const oldestFirst = <T extends Pick<Sleeper, "idleSince">>(frozen: readonly T[]): T[] =>
  frozen.toSorted((one, other) => one.idleSince - other.idleSince);

/** Returns the frozen instances to stop, oldest first, so that the memory of the others fits in `budget` bytes. */
export const beyondBudget = <T extends Sleeper>(frozen: readonly T[], budget: number): T[] => {
  let excess = frozen.reduce((sum, { memory }) => sum + memory, 0) - budget;
  return oldestFirst(frozen).filter(({ memory }) => {
    const stops = excess > 0;
    if (stops) excess -= memory;
    return stops;
  });
};
