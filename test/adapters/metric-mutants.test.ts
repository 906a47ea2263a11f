/** The contract suite of metrics rejects broken stores. */
import { createManualClock } from "../../adapters/memory/index.ts";
import { createMemoryMetrics } from "../../adapters/memory/usage/metrics.ts";
import { createWorld } from "../../adapters/memory/world.ts";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { createRollup } from "../../core/domain/usage/rollup.ts";
import { secondsOf } from "../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import type { MetricStore } from "../../core/ports/metric-store.ts";
import { freshNames, type MetricSubject, metricStoreCases } from "../contracts/index.ts";
import { mutantTests } from "../support/vitest/mutants.ts";

/** @param place where the store puts a rollup */
const subjectOf = (
  change: (port: MetricStore) => MetricStore,
  place: (minute: number, owner: string, name: string) => readonly [number, string, string] = (...all) => all,
): MetricSubject => {
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const metrics = createMemoryMetrics(createWorld(), clock);
  const start = secondsOf(clock.now());
  return {
    metrics: change(metrics),
    start,
    ...freshNames("mutant"),
    add: async ({ owner, name }, minute, rollup) => metrics.add(...place(start + minute, owner, name), rollup),
  };
};

const store = (change: (port: MetricStore) => MetricStore) => () => subjectOf(change);
const unchanged = (port: MetricStore): MetricStore => port;

mutantTests("MetricStore", metricStoreCases, {
  metrics: {
    "store that reads single minutes": store((port) => ({
      read: (scopes, window, options) =>
        port
          .read(scopes, { ...window, step: 60, count: window.count * (window.step / 60) }, options)
          .map((all) => all.map((steps) => steps.filter((_step, index) => index % (window.step / 60) === 0))),
    })),
    "store that sorts the deployments": store((port) => ({
      read: (scopes, ...rest) =>
        port.read(
          scopes.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
          ...rest,
        ),
    })),
    "store that moves rollups to the next minute": () =>
      subjectOf(unchanged, (minute, owner, name) => [minute + 60, owner, name]),
  },
  gaps: {
    "store without gaps": store((port) => ({
      read: (...args) =>
        port.read(...args).map((all) => all.map((steps) => steps.map((step) => step ?? createRollup()))),
    })),
    "store that has no idle steps": store((port) => ({
      read: (...args) =>
        port
          .read(...args)
          .map((all) =>
            all.map((steps) => steps.map((step) => (step?.some((value, at) => at > 0 && value > 0) ? step : null))),
          ),
    })),
  },
  scopes: {
    "store that ignores the account": () => {
      const place = (minute: number, _owner: string, name: string) => [minute, "all", name] as const;
      return subjectOf(
        (port) => ({
          read: (scopes, ...rest) =>
            port.read(
              scopes.map((scope) => ({ ...scope, owner: "all" as AccountId })),
              ...rest,
            ),
        }),
        place,
      );
    },
    "store that ignores the deployment": () => {
      const place = (minute: number, owner: string) => [minute, owner, "all"] as const;
      return subjectOf(
        (port) => ({
          read: (scopes, ...rest) =>
            port.read(
              scopes.map((scope) => ({ ...scope, name: "all" as DeploymentName })),
              ...rest,
            ),
        }),
        place,
      );
    },
  },
});
