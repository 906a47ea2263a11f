/**
 * Prometheus metrics of the platform.
 *
 * ```ts
 * const metrics = createMetrics();
 * const local = await createLocalProvider({ dataDir, ingressPort: 0 }, { telemetry: metrics.telemetry });
 * const controlPlane = metrics.measure(createControlPlane(local.ports));
 * await app.register(portside, { controlPlane, onServed: metrics.apiServed });
 * app.get("/metrics", async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
 * ```
 */
import { AggregatorRegistry, collectDefaultMetrics, Registry } from "prom-client";
import type { ControlPlane } from "../../../core/control-plane.ts";
import type { Telemetry } from "../../../core/ports/telemetry.ts";
import { type ApiRequest, apiMetrics } from "./api.ts";
import { deployMetrics, measureDeploys } from "./deploys.ts";
import { providerTelemetry } from "./provider.ts";

/** Prometheus metrics of a platform. */
export interface Metrics {
  /** For the provider, which reports its instances, requests and logs. */
  readonly telemetry: Telemetry;
  /** Returns a control plane that counts and times its deploys. */
  measure(controlPlane: ControlPlane): ControlPlane;
  /** Counts and times a request to the API. Pass it to the HTTP host as `onServed`. */
  apiServed(request: ApiRequest): void;
  /** Returns all metrics in Prometheus' text format: https://prometheus.io/docs/instrumenting/exposition_formats/ */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Options of `createMetrics`. */
export interface MetricsConfig {
  /**
   * The registry for the metrics. Pass your application's registry to serve all metrics together. Defaults to a new
   * registry.
   */
  readonly registry?: Registry;
  /**
   * Whether to include metrics of the process: memory, CPU and the event loop. Defaults to true without `registry`, and
   * to false with it.
   */
  readonly process?: boolean;
}

/** Returns the combined metrics of this process and of other processes, in text format. */
const sumOf = async (registry: Registry, others: ReadonlySet<() => Promise<unknown>>): Promise<string> => {
  if (others.size === 0) return registry.metrics();
  // Omits the metrics of a process that does not respond.
  const read = [...others].map((other) => other().catch(() => []));
  const all = [await registry.getMetricsAsJSON(), ...(await Promise.all(read))];
  return AggregatorRegistry.aggregate(all as Parameters<typeof AggregatorRegistry.aggregate>[0]).metrics();
};

/** Creates the metrics of a platform. Each call returns independent metrics. */
export const createMetrics = (config: MetricsConfig = {}): Metrics => {
  const { registry = new Registry(), process = config.registry === undefined } = config;
  if (process) collectDefaultMetrics({ register: registry });
  const deploys = deployMetrics(registry);
  const others = new Set<() => Promise<unknown>>();
  return {
    telemetry: providerTelemetry(registry, others),
    measure: (controlPlane) => measureDeploys(controlPlane, deploys),
    apiServed: apiMetrics(registry),
    text: () => sumOf(registry, others),
    contentType: registry.contentType,
  };
};

export type { ApiRequest };
