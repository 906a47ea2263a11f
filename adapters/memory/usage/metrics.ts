/** In-memory metrics. The simulated services produce no metrics, so tests add them. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { minuteOf, type ObservedTime, sumSteps } from "../../../core/domain/usage/metrics.ts";
import {
  addRollup,
  countColdStart,
  countInstance,
  countRequest,
  createRollup,
  type InstanceUse,
  ROLLUP_S,
  type Rollup,
} from "../../../core/domain/usage/rollup.ts";
import type { MetricStore } from "../../../core/ports/metric-store.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { okAsync } from "../../../core/result.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import type { World } from "../world.ts";

/** The activity of a deployment within a minute. */
export interface SimulatedActivity {
  readonly requests?: readonly { readonly status: number; readonly millis: number }[];
  readonly instances?: readonly InstanceUse[];
  readonly coldStarts?: number;
}

export interface MemoryMetrics extends MetricStore {
  /** Adds a rollup to a deployment's minute, and marks the minute as observed. */
  add(minute: number, owner: string, name: string, rollup: Rollup): void;
  /** Adds activity to the current minute. */
  measure(account: AccountId, name: string, activity: SimulatedActivity): void;
}

const rollupOf = ({ requests = [], instances = [], coldStarts = 0 }: SimulatedActivity): Rollup => {
  const rollup = createRollup();
  for (const { status, millis } of requests) countRequest(rollup, status, millis);
  for (const use of instances) countInstance(rollup, use);
  for (let n = 0; n < coldStarts; n++) countColdStart(rollup);
  return rollup;
};

export const createMemoryMetrics = (world: World, clock: Clock): MemoryMetrics => {
  const add = (minute: number, owner: string, name: string, rollup: Rollup): void => {
    world.observed.add(minute);
    const key = scopeKey(owner, name);
    const own = world.rollups.get(key) ?? new Map<number, Rollup>();
    world.rollups.set(key, own);
    const sum = own.get(minute) ?? createRollup();
    own.set(minute, sum);
    addRollup(sum, rollup);
  };
  return {
    add,
    measure: (account, name, activity) => add(minuteOf(clock.now()), account, name, rollupOf(activity)),
    read: (scopes, window) => {
      const observed = [...world.observed].map((minute): ObservedTime => [minute, ROLLUP_S * 1000]);
      return okAsync(
        scopes.map(({ owner, name }) => sumSteps(window, observed, world.rollups.get(scopeKey(owner, name)) ?? [])),
      );
    },
  };
};
