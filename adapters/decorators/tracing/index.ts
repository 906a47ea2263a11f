/**
 * OpenTelemetry spans of use cases and of their calls of ports. The application chooses the SDK that records them, if
 * any: https://opentelemetry.io/docs/languages/js/instrumentation/
 *
 * ```ts
 * const controlPlane = traceControlPlane(createControlPlane(tracePorts(ports)));
 * ```
 */
export { traceControlPlane } from "./control-plane.ts";
export { tracePorts } from "./ports.ts";
