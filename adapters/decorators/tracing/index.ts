/**
 * Spans around use cases and around what they ask of their ports, through the API of OpenTelemetry. Which SDK records
 * them, if any, is the application's: https://opentelemetry.io/docs/languages/js/instrumentation/
 *
 * ```ts
 * const controlPlane = traceControlPlane(createControlPlane(tracePorts(ports)));
 * ```
 */
export { traceControlPlane } from "./control-plane.ts";
export { tracePorts } from "./ports.ts";
