/** Use cases and their port calls as spans. */
import { SpanStatusCode, trace } from "@opentelemetry/api";
import { AlwaysOffSampler } from "@opentelemetry/sdk-trace-node";
import { describe, expect, test } from "vitest";
import { faulty } from "../../../../adapters/decorators/faulty.ts";
import { traceControlPlane, tracePorts } from "../../../../adapters/decorators/tracing/index.ts";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { zero } from "../../../../core/domain/usage/decimal.ts";
import { unavailable } from "../../../../core/errors.ts";
import { okAsync } from "../../../../core/result.ts";
import { recordSpans } from "../../../support/logs/spans.ts";
import {
  deployed,
  ended,
  type MemoryOptions,
  recordTexts,
  startMemory,
} from "../../../support/providers/memory-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const startTraced = (options: MemoryOptions = {}) =>
  startMemory({ ...options, watch: { ports: tracePorts, controlPlane: traceControlPlane } });

describe("a deploy", () => {
  test("is one span until its last record, with its port calls below it", async () => {
    using spans = recordSpans();
    const platform = startTraced();
    const records = await deployed(platform, { volumes: { "/data": "files" } });
    await eventually(() => spans.named("portside.deploy"));
    const deploy = spans.named("portside.deploy");
    expect(deploy.attributes).toEqual({ "portside.account": "acme", "portside.deploy_id": records[0]?.deploy_id });
    expect(deploy.status.code).toBe(SpanStatusCode.UNSET);
    expect(deploy.events.map(({ name, attributes }) => `${name} ${attributes?.["portside.message"]}`)).toEqual(
      recordTexts(records),
    );
    for (const port of ["builder.build", "services.rollout", "volumes.create", "services.find"])
      expect(
        spans
          .ended()
          .filter(({ name }) => name === port)
          .map(spans.pathOf),
      ).toContain(`portside.deploy > ${port}`);
    expect(spans.named("builder.build").attributes).toEqual({ "portside.port": "builder", "portside.method": "build" });
    expect(new Set(spans.ended().map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  test("that fails has the reason", async () => {
    using spans = recordSpans();
    const failure = { reason: "build_failed", message: "The build failed." } as const;
    const platform = startTraced({ around: ({ builder }) => ({ builder: faulty(builder, () => ({ failure })) }) });
    await ended(platform);
    await eventually(() => spans.named("portside.deploy"));
    for (const name of ["portside.deploy", "builder.build"])
      expect(spans.named(name)).toMatchObject({
        attributes: { "error.type": "build_failed" },
        status: { code: SpanStatusCode.ERROR, message: "The build failed." },
      });
  });

  test("that is rejected is not a failed span", async () => {
    using spans = recordSpans();
    const platform = startTraced();
    expect((await platform.submit({ port: 0 })).isErr()).toBe(true);
    expect(spans.named("portside.deploy")).toMatchObject({
      attributes: { "error.type": "invalid_input", "portside.account": "acme" },
      status: { code: SpanStatusCode.UNSET },
    });
  });
});

test("a port that is down fails its own span and the span of the use case", async () => {
  using spans = recordSpans();
  const error = unavailable("down", 5);
  const platform = startTraced({ around: ({ services }) => ({ services: faulty(services, () => ({ error })) }) });
  const answer = await platform.controlPlane.listDeployments(platform.principal());
  expect(answer._unsafeUnwrapErr().kind).toBe("unavailable");
  expect(spans.pathOf(spans.named("services.list"))).toBe("portside.listDeployments > services.list");
  for (const span of spans.ended())
    expect(span).toMatchObject({ attributes: { "error.type": "unavailable" }, status: { code: SpanStatusCode.ERROR } });
});

test("an application's own span is the parent", async () => {
  using spans = recordSpans();
  const platform = startTraced();
  await trace.getTracer("application").startActiveSpan("request", async (span) => {
    expect((await platform.controlPlane.listVolumes(platform.principal())).isOk()).toBe(true);
    span.end();
  });
  expect(spans.pathOf(spans.named("volumes.list"))).toBe("request > portside.listVolumes > volumes.list");
});

test("a port's exception is recorded in its span and handled as without tracing", async () => {
  using spans = recordSpans();
  const broken: NonNullable<MemoryOptions["around"]> = ({ builder }) => ({
    builder: {
      ...builder,
      build: async function* () {
        yield { kind: "progress", message: "so far" };
        throw new Error("a bug");
      },
    },
  });
  const [untraced, traced] = [startMemory({ around: broken }), startTraced({ around: broken })];
  const [plain, watched] = [recordTexts(await ended(untraced)), recordTexts(await ended(traced))];
  expect(watched).toEqual(plain);
  expect(watched.at(-1)).toMatch(/^ERROR /);
  expect(spans.named("builder.build")).toMatchObject({
    events: [{ name: "exception", attributes: { "exception.message": "a bug" } }],
    status: { code: SpanStatusCode.ERROR },
  });
});

test("work of a port between two events is below the port's span", async () => {
  using spans = recordSpans();
  const platform = startTraced({
    around: ({ builder }) => ({
      builder: {
        build: async function* (request, options) {
          yield { kind: "progress", message: "about to compile" };
          trace.getTracer("builder").startSpan("compile").end();
          yield* builder.build(request, options);
        },
      },
    }),
  });
  await deployed(platform);
  await eventually(() => spans.named("portside.deploy"));
  expect(spans.pathOf(spans.named("compile"))).toBe("portside.deploy > builder.build > compile");
});

test("an unsampled trace records no spans, including children", async () => {
  using spans = recordSpans(new AlwaysOffSampler());
  await deployed(startTraced());
  expect(spans.ended()).toEqual([]);
});

test("without an SDK a call goes directly to the port", () => {
  const { ports } = createMemoryProvider();
  const answer = okAsync([]);
  const services = { ...ports.provider.services, list: () => answer };
  const traced = tracePorts({ ...ports, provider: { ...ports.provider, services } });
  expect(traced.provider.services.list("acme" as AccountId)).toBe(answer);
});

test("the traced provider has every member of the provider", () => {
  const { ports } = createMemoryProvider();
  const instancePrices = { currency: "USD", cpu: zero, memory: zero };
  const provider = { ...ports.provider, instancePrices };
  const traced = tracePorts({ ...ports, provider }).provider;
  expect(Object.keys(traced).sort()).toEqual(Object.keys(provider).sort());
  expect(traced).toMatchObject({ instancePrices, capabilities: provider.capabilities });
});
