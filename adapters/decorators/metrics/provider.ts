/** Metrics that a provider reports about its instances, ingress and log. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Load, Telemetry } from "../../../core/ports/telemetry.ts";

const states = ["starting", "busy", "idle", "frozen", "rolling"] as const;

/** Gauges that are read at each collection. */
const loadGauges = (registry: Registry, now: () => readonly Load[]): void => {
  const registers = [registry];
  const sum = (of: (load: Load) => number): number => now().reduce((total, load) => total + of(load), 0);
  new Gauge({
    name: "portside_instances",
    help: "Instances of services by state. Instances of a revision that is rolling out or draining have the state rolling.",
    labelNames: ["state"],
    registers,
    collect() {
      for (const state of states)
        this.set(
          { state },
          sum(({ instances }) => instances[state]),
        );
    },
  });
  new Gauge({
    name: "portside_service_requests_waiting",
    help: "Requests that wait for an instance of a service.",
    registers,
    collect() {
      this.set(sum(({ requestsWaiting }) => requestsWaiting));
    },
  });
  new Gauge({
    name: "portside_log_entries_waiting",
    help: "Log entries that were received but are not stored yet.",
    registers,
    collect() {
      this.set(sum(({ logEntriesWaiting }) => logEntriesWaiting));
    },
  });
};

/** @param others receives the sources of other processes' metrics */
export const providerTelemetry = (registry: Registry, others: Set<() => Promise<unknown>>): Telemetry => {
  const registers = [registry];
  const loads = new Set<() => Load>();
  loadGauges(registry, () => [...loads].map((read) => read()));
  const coldStarts = new Histogram({
    name: "portside_cold_start_seconds",
    help: "Duration of cold starts, from the decision to start an instance until it listens.",
    buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60],
    registers,
  });
  const requests = new Histogram({
    name: "portside_service_request_seconds",
    help: "Duration of requests to services until the last byte, by status class.",
    labelNames: ["status"],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
    registers,
  });
  const lag = new Histogram({
    name: "portside_log_lag_seconds",
    help: "Age of the oldest log entry in a write when the write ends.",
    buckets: [0.01, 0.05, 0.1, 0.2, 0.5, 1, 5, 30],
    registers,
  });
  const stored = new Counter({
    name: "portside_log_entries_stored_total",
    help: "Stored log entries.",
    registers,
  });
  const lost = new Counter({
    name: "portside_log_entries_lost_total",
    help: "Log entries that were lost because they could not be stored.",
    registers,
  });
  return {
    coldStarted: (seconds) => coldStarts.observe(seconds),
    requestServed: (status, seconds) => requests.observe({ status: `${Math.floor(status / 100)}xx` }, seconds),
    logStored: (entries, lagSeconds) => {
      stored.inc(entries);
      lag.observe(lagSeconds);
    },
    logLost: (entries) => lost.inc(entries),
    watchLoad: (read) => {
      loads.add(read);
      return () => void loads.delete(read);
    },
    snapshot: () => registry.getMetricsAsJSON(),
    include: (read) => {
      others.add(read);
      return () => void others.delete(read);
    },
  };
};
