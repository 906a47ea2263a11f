/**
 * OpenTelemetry spans for use cases and their port calls. The application may install an SDK that records the spans:
 * https://opentelemetry.io/docs/languages/js/instrumentation/
 *
 * ```ts
 * const controlPlane = traceControlPlane(createControlPlane(tracePorts(ports)));
 * ```
 */
export { traceControlPlane } from "./control-plane.ts";
export { tracePorts } from "./ports.ts";
