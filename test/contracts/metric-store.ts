/** The contract suite of `MetricStore`. */
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import {
  countRequest,
  createRollup,
  observedMillisOf,
  type Rollup,
  requestsOf,
} from "../../core/domain/usage/rollup.ts";
import { instantOfSeconds } from "../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import type { MetricScope, MetricStore } from "../../core/ports/metric-store.ts";
import type { ContractCase } from "./harness.ts";
import { expectOk } from "./support.ts";

/** A store of metrics, and a way to add rollups to it. */
export interface MetricSubject {
  readonly metrics: MetricStore;
  /** Adds a rollup to the minute that begins `minute` seconds after `start`, and marks the minute as observed. */
  readonly add: (scope: MetricScope, minute: number, rollup: Rollup) => Promise<void>;
  /** The start of a minute, in seconds since 1970. */
  readonly start: number;
  account(): AccountId;
  name(): DeploymentName;
}

const rollupOf = (requests: number): Rollup => {
  const rollup = createRollup();
  for (let n = 0; n < requests; n++) countRequest(rollup, 200, 5);
  return rollup;
};

const scopeOf = (subject: MetricSubject): MetricScope => ({ owner: subject.account(), name: subject.name() });

const read = async ({ metrics, start }: MetricSubject, scope: MetricScope, step: number, count: number) =>
  (await expectOk(metrics.read([scope], { from: instantOfSeconds(start), step, count })))[0] ?? [];

const requestsIn = (steps: readonly (Rollup | null)[]) =>
  steps.map((rollup) => (rollup === null ? null : requestsOf(rollup, "2xx")));

/** The contract suite of `MetricStore`. */
export const metricStoreCases: readonly ContractCase<MetricSubject>[] = [
  {
    group: "metrics",
    name: "each step has the sum of its rollups",
    run: async (subject) => {
      const scope = scopeOf(subject);
      for (const [minute, requests] of [
        [0, 1],
        [60, 2],
        [60, 4],
        [120, 8],
        [240, 16],
      ] as const)
        await subject.add(scope, minute, rollupOf(requests));
      expect(requestsIn(await read(subject, scope, 60, 3))).toEqual([1, 6, 8]);
      expect(requestsIn(await read(subject, scope, 120, 2))).toEqual([7, 8]);
      expect(requestsIn(await read(subject, scope, 300, 1))).toEqual([31]);
    },
  },
  {
    group: "metrics",
    name: "each deployment has its own steps, in the order of the call",
    run: async (subject) => {
      const scopes = [scopeOf(subject), scopeOf(subject), scopeOf(subject)];
      for (const [index, requests] of [4, 2, 1].entries())
        await subject.add(scopes[index] as MetricScope, 0, rollupOf(requests));
      const window = { from: instantOfSeconds(subject.start), step: 60, count: 1 };
      const all = await expectOk(subject.metrics.read(scopes.toReversed(), window));
      expect(all.map(requestsIn)).toEqual([[1], [2], [4]]);
    },
  },
  {
    group: "gaps",
    name: "an idle deployment has observed steps, and a step that the platform did not observe is null",
    run: async (subject) => {
      const [busy, idle] = [scopeOf(subject), scopeOf(subject)];
      await subject.add(busy, 600, rollupOf(3));
      const from = { ...subject, start: subject.start + 540 };
      expect(requestsIn(await read(from, busy, 60, 3))).toEqual([null, 3, null]);
      const steps = await read(from, idle, 60, 3);
      expect(requestsIn(steps)).toEqual([null, 0, null]);
      expect(observedMillisOf(steps[1] as Rollup)).toBeGreaterThan(0);
    },
  },
  {
    group: "scopes",
    name: "a deployment's metrics do not include those of another deployment or account",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const others = [
        { ...scope, owner: subject.account() },
        { ...scope, name: subject.name() },
      ];
      for (const other of others) await subject.add(other, 0, rollupOf(5));
      await subject.add(scope, 0, rollupOf(1));
      expect(requestsIn(await read(subject, scope, 60, 1))).toEqual([1]);
    },
  },
];
