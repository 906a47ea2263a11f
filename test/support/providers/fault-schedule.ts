/** A provider whose calls are slow, fail before they act, or lose their response. */
import fc from "fast-check";
import { delayed, type Fault, faulty, type PortCall } from "../../../adapters/memory/index.ts";
import { deployReasonSchema } from "../../../core/domain/deploy/reason.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { unavailable } from "../../../core/errors.ts";
import { type MemoryPlatform, startMemory } from "./memory-platform.ts";

/** The provider's faults: how long each call takes, and which calls fail. */
export interface FaultSchedule {
  readonly pauses: readonly number[];
  readonly faults: readonly { readonly method: string; readonly count: number; readonly fault: Fault }[];
}

const failure = fc
  .tuple(
    fc.constantFrom("build_failed", "no_builder", "crashed", "out_of_memory", "provider_unavailable"),
    fc.boolean(),
  )
  .map(
    ([reason, after]): Fault => ({
      failure: { reason: deployReasonSchema.parse(reason), message: "It failed." },
      after,
    }),
  );
const error = fc.boolean().map((after): Fault => ({ error: unavailable("It is down."), after }));

const fault = fc.oneof(
  fc.record({ method: fc.constantFrom("build", "rollout"), count: fc.integer({ min: 1, max: 5 }), fault: failure }),
  fc.record({
    method: fc.constantFrom("find", "list", "noteDeploy", "append", "remove"),
    count: fc.integer({ min: 1, max: 12 }),
    fault: error,
  }),
);

/** Mostly fast; now and then slower than a heartbeat, sometimes past every deadline. */
export const faultSchedule = (): fc.Arbitrary<FaultSchedule> =>
  fc.record({
    pauses: fc.array(
      fc.oneof(
        { weight: 12, arbitrary: fc.integer({ min: 0, max: 3000 }) },
        { weight: 3, arbitrary: fc.integer({ min: 0, max: 60_000 }) },
        { weight: 1, arbitrary: fc.constantFrom(320_000, 920_000, 940_000) },
      ),
      { minLength: 1, maxLength: 12 },
    ),
    faults: fc.array(fault, { maxLength: 4 }),
  });

/** A control plane on a provider with these faults; calls `onBuild` at the start of every build. */
export const startWithFaults = (
  { pauses, faults }: FaultSchedule,
  onBuild: (deployId: string, now: Instant) => void,
): MemoryPlatform => {
  let calls = 0;
  const pause = () => pauses[calls++ % pauses.length] ?? 0;
  const wrong = ({ method, count }: PortCall) =>
    faults.find((one) => one.method === method && one.count === count)?.fault;
  return startMemory({
    around: ({ builder, services, logs }, clock) => {
      const withFaults = <P extends object>(port: P): P => faulty(delayed(port, clock, pause), wrong);
      const { build } = withFaults(builder);
      return {
        services: withFaults(services),
        logs: withFaults(logs),
        builder: {
          build: (request, options) => {
            onBuild(request.deployId, clock.now());
            return build(request, options);
          },
        },
      };
    },
  });
};
