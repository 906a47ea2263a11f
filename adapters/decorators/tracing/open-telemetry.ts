/** OpenTelemetry's API, which not everybody has: whoever lacks it is told its name. */
import { needPackages } from "../../shared/runtime/optional-package.ts";

export const { context, isSpanContextValid, SpanStatusCode, trace } = await needPackages(
  "portside/tracing",
  ["@opentelemetry/api"],
  () => import("@opentelemetry/api"),
);
