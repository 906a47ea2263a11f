/**
 * The platform's figures as Prometheus reads them.
 *
 * ```ts
 * const metrics = createMetrics();
 * const local = await createLocalProvider({ dataDir, ingressPort: 0 }, { telemetry: metrics.telemetry });
 * const controlPlane = metrics.measure(createControlPlane(local.ports));
 * await app.register(portside, { controlPlane, onServed: metrics.apiServed });
 * app.get("/metrics", async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
 * ```
 */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { ControlPlane } from "../../../core/control-plane.ts";
import type { Telemetry } from "../../../core/ports/telemetry.ts";
import { type ApiRequest, apiFigures } from "./api.ts";
import { deployFigures, measured } from "./deploys.ts";
import { providerTelemetry } from "./provider.ts";

export interface Metrics {
  /** For a provider, to tell of itself. */
  readonly telemetry: Telemetry;
  /** The same control plane, its deploys counted and timed. */
  measure(controlPlane: ControlPlane): ControlPlane;
  /** Counts and times a request to the API. */
  apiServed(request: ApiRequest): void;
  /** Everything, in Prometheus' text format: https://prometheus.io/docs/instrumenting/exposition_formats/ */
  text(): Promise<string>;
  readonly contentType: string;
}

export interface MetricsConfig {
  /** Where the figures are kept; an application's own registry shows them among its own. */
  readonly registry?: Registry;
  /** The process's own as well: memory, CPU, the event loop. True by default where the registry is not the caller's. */
  readonly process?: boolean;
}

export const createMetrics = (config: MetricsConfig = {}): Metrics => {
  const { registry = new Registry(), process = config.registry === undefined } = config;
  if (process) collectDefaultMetrics({ register: registry });
  const deploys = deployFigures(registry);
  return {
    telemetry: providerTelemetry(registry),
    measure: (controlPlane) => measured(controlPlane, deploys),
    apiServed: apiFigures(registry),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
};

export type { ApiRequest };
