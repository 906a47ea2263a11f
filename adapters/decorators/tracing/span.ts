/** Creates a span for a call. The span ends with the call's result, or with the last event of a stream. */
import type { Attributes, Context, Span } from "@opentelemetry/api";
import type { ControlPlaneError } from "../../../core/errors.ts";
import { Err, ResultAsync } from "../../../core/result.ts";
import { context, isSpanContextValid, SpanStatusCode, trace } from "./open-telemetry.ts";

/** The instrumentation scope. SDK settings can use it to select these spans. */
const TRACER = "portside";

export interface ActiveSpan {
  readonly span: Span;
  /** The context in which the span is active. */
  readonly within: Context;
}

/** Begins a span. Returns undefined if no SDK is installed; the caller must then make the call without a span. */
export const beginSpan = (name: string, attributes: Attributes): ActiveSpan | undefined => {
  const span = trace.getTracer(TRACER).startSpan(name, { attributes });
  // An unsampled span has a valid context too, which its children need.
  if (!isSpanContextValid(span.spanContext())) return undefined;
  return { span, within: trace.setSpan(context.active(), span) };
};

/** Returns whether an error marks the span as failed. A `not_found`, for example, is a normal result. */
const isFault = ({ kind }: ControlPlaneError): boolean => kind === "internal" || kind === "unavailable";

export const recordError = (span: Span, error: ControlPlaneError): void => {
  // https://opentelemetry.io/docs/specs/semconv/registry/attributes/error/
  span.setAttribute("error.type", error.kind);
  if (isFault(error)) span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
};

const recordException = (span: Span, error: unknown): void => {
  span.recordException(error instanceof Error ? error : String(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
};

/** Ends the span with the result of a call. */
const end = <T>(span: Span, result: T): T => {
  if (result instanceof Err) recordError(span, result.error);
  span.end();
  return result;
};

/** Ends the span when the result is available. */
const settle = async (span: Span, result: Promise<unknown> | ResultAsync<unknown, unknown>): Promise<unknown> => {
  try {
    return end(span, await result);
  } catch (error) {
    recordException(span, error);
    span.end();
    throw error;
  }
};

interface StreamEvent {
  readonly kind?: string;
  readonly failure?: { readonly reason: string; readonly message: string };
}

/** Runs each step in the span's context. Leaving the stream early ends the span too. */
async function* follow({ span, within }: ActiveSpan, events: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await context.with(within, () => iterator.next());
      if (done === true) return;
      const { kind, failure } = value as StreamEvent;
      if (kind === "failed" && failure !== undefined) {
        span.setAttribute("error.type", failure.reason);
        span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
      }
      yield value;
    }
  } catch (error) {
    recordException(span, error);
    throw error;
  } finally {
    await iterator.return?.();
    span.end();
  }
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** Makes a call in a new span. The call may return a value, a promise, a `ResultAsync` or a stream. */
export const withSpan = (name: string, attributes: Attributes, call: () => unknown): unknown => {
  const active = beginSpan(name, attributes);
  if (active === undefined) return call();
  const { span, within } = active;
  try {
    const result = context.with(within, call);
    if (result instanceof ResultAsync)
      return new ResultAsync(settle(span, result as ResultAsync<unknown, unknown>) as never);
    if (result instanceof Promise) return settle(span, result);
    if (isStream(result)) return follow(active, result);
    return end(span, result);
  } catch (error) {
    recordException(span, error);
    span.end();
    throw error;
  }
};
