/** An OpenTelemetry SDK that records finished spans and their parents. */
import { context, trace } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";

export interface Spans extends Disposable {
  ended(): ReadableSpan[];
  named(name: string): ReadableSpan;
  /** `parent > child > …`, from the outermost to the span. */
  pathOf(span: ReadableSpan): string;
}

/** The OpenTelemetry API allows one SDK per process: dispose of it before you create the next one. */
export const recordSpans = (sampler?: Sampler): Spans => {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler && { sampler }),
  });
  provider.register({ propagator: null });
  const ended = () => exporter.getFinishedSpans();
  const pathOf = (span: ReadableSpan): string => {
    const parent = ended().find((one) => one.spanContext().spanId === span.parentSpanContext?.spanId);
    return parent === undefined ? span.name : `${pathOf(parent)} > ${span.name}`;
  };
  return {
    ended,
    named: (name) => {
      const found = ended().filter((span) => span.name === name);
      if (found.length !== 1) throw new Error(`${found.length} spans are named ${name}`);
      return found[0] as ReadableSpan;
    },
    pathOf,
    [Symbol.dispose]: () => {
      trace.disable();
      context.disable();
    },
  };
};
