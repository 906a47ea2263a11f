/**
 * A cloud on a simulated clock: the memory provider, with calls that take time, calls that fail or lose their response,
 * and logs that show entries late. Nothing waits in real time, so hours pass in milliseconds.
 *
 * ```ts
 * const cloud = createSimulatedCloud({
 *   latency: () => 200,
 *   fault: ({ port, method, count }) =>
 *     port === "services" && method === "rollout" && count === 1
 *       ? { failure: { reason: "provider_unavailable", message: "The provider is unavailable." } }
 *       : undefined,
 * });
 * ```
 */
import {
  createManualClock,
  createMemoryProvider,
  delayed,
  type Fault,
  faulty,
  type ManualClock,
  type MemoryProvider,
  type PortCall,
} from "../../adapters/memory/index.ts";
import type { Capabilities } from "../../core/domain/wire/capabilities.ts";
import type { Ports, Provider } from "../../core/ports/provider.ts";
import { createLateLogs } from "./late-logs.ts";
import { whileTicking } from "./ticking.ts";

const ports = ["services", "builder", "volumes", "scheduler", "logs"] as const;

/** A call of one of the provider's ports. `count` starts at 1 for each method. */
export interface CloudCall extends PortCall {
  readonly port: (typeof ports)[number];
}

/** Options of `createSimulatedCloud`. */
export interface SimulatedCloudOptions {
  /** Milliseconds before a call acts, and between the events of a build or a rollout; defaults to 0. */
  readonly latency?: (call: CloudCall) => number;
  /** The fault of a call, or undefined. With `after`, the call acts and its response is lost. */
  readonly fault?: (call: CloudCall) => Fault | undefined;
  /** Milliseconds until searches find a log entry; at most `capabilities.logs.settle_seconds`; defaults to 0. */
  readonly logDelay?: () => number;
  /** Replaces fields of the memory provider's capabilities. */
  readonly capabilities?: Partial<Capabilities>;
}

/** A simulated cloud. */
export interface SimulatedCloud {
  /** Pass these to `createControlPlane`. */
  readonly ports: Ports;
  /** Moves only through `during` or when the test advances it. */
  readonly clock: ManualClock;
  /** The memory provider, without the delays and faults. */
  readonly memory: MemoryProvider;
  /** Advances the clock until the work settles, and returns its result. */
  during<T>(work: PromiseLike<T>): Promise<T>;
}

/** The step of the clock. The clock may pass the end of the work by one step, so a step is much less than a second. */
const TICK_MS = 50;

/** A new cloud without services. Without options, calls take no time and do not fail. */
export const createSimulatedCloud = (options: SimulatedCloudOptions = {}): SimulatedCloud => {
  const { latency = () => 0, fault = () => undefined, logDelay, capabilities = {} } = options;
  const clock = createManualClock();
  const memory = createMemoryProvider({ clock, capabilities });
  const behind: Provider =
    logDelay === undefined ? memory.provider : { ...memory.provider, logs: createLateLogs([], clock, logDelay) };
  const withFaults = <K extends CloudCall["port"]>(port: K): Provider[K] =>
    faulty(
      delayed(behind[port], clock, (call) => latency({ ...call, port })),
      (call) => fault({ ...call, port }),
    );
  const provider: Provider = {
    ...behind,
    services: withFaults("services"),
    builder: withFaults("builder"),
    volumes: withFaults("volumes"),
    scheduler: withFaults("scheduler"),
    logs: withFaults("logs"),
  };
  return {
    ports: { ...memory.ports, provider },
    clock,
    memory,
    during: (work) => whileTicking(clock, work, TICK_MS),
  };
};
