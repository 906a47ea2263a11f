/** Loads the OpenTelemetry API, an optional peer dependency. Fails with an install hint if it is missing. */
import { needPackages } from "../../shared/runtime/optional-package.ts";

export const { context, isSpanContextValid, SpanStatusCode, trace } = await needPackages(
  "portside/tracing",
  ["@opentelemetry/api"],
  () => import("@opentelemetry/api"),
);
