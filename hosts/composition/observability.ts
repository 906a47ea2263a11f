/**
 * Instruments a platform with metrics if the settings enable them, and with spans if `@opentelemetry/api` is installed.
 */
import type { Metrics } from "../../adapters/decorators/metrics/index.ts";
import { findPackage, UnusablePackage } from "../../adapters/shared/runtime/optional-package.ts";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { Ports } from "../../core/ports/provider.ts";
import type { Logger } from "../../core/ports/system.ts";
import { noTelemetry, type Telemetry } from "../../core/ports/telemetry.ts";
import type { ServeSettings } from "./settings.ts";

export interface Observability {
  /** Receives the metrics that the provider itself measures. */
  readonly telemetry: Telemetry;
  ports(ports: Ports): Ports;
  controlPlane(controlPlane: ControlPlane): ControlPlane;
  /** Undefined if the settings do not enable metrics. */
  readonly metrics?: Metrics;
}

type Tracing = Pick<Observability, "ports" | "controlPlane">;

/** Enabled if a usable `@opentelemetry/api` is installed, because spans cost almost nothing without an SDK. */
const loadTracing = async (logger: Logger): Promise<Tracing> => {
  try {
    const { tracePorts, traceControlPlane } = await import("../../adapters/decorators/tracing/index.ts");
    return { ports: tracePorts, controlPlane: traceControlPlane };
  } catch (error) {
    if (!(error instanceof UnusablePackage)) throw error;
    if (findPackage("@opentelemetry/api") !== undefined) logger.warn("tracing is off", { reason: error.message });
    return { ports: (ports) => ports, controlPlane: (controlPlane) => controlPlane };
  }
};

/** Returns undefined if the settings do not enable metrics. */
export const loadMetrics = async ({ metricsPort }: ServeSettings): Promise<Metrics | undefined> => {
  if (metricsPort === undefined) return undefined;
  const { createMetrics } = await import("../../adapters/decorators/metrics/index.ts");
  return createMetrics();
};

export const createObservability = async (settings: ServeSettings, logger: Logger): Promise<Observability> => {
  const tracing = await loadTracing(logger);
  const metrics = await loadMetrics(settings);
  if (metrics === undefined) return { ...tracing, telemetry: noTelemetry };
  return {
    ports: tracing.ports,
    controlPlane: (controlPlane) => metrics.measure(tracing.controlPlane(controlPlane)),
    telemetry: metrics.telemetry,
    metrics,
  };
};
