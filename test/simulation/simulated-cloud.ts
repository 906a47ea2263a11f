/**
 * A cloud on a clock of the test's own: the memory provider, with calls that take time, calls that fail or whose answer
 * is lost, and logs that show entries late. Nothing waits for real, so that hours take milliseconds.
 *
 * ```ts
 * const cloud = createSimulatedCloud({
 *   latency: () => 200,
 *   fault: ({ port, method, count }) =>
 *     port === "services" && method === "rollout" && count === 1
 *       ? { failure: { reason: "provider_unavailable", message: "It is down." } }
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

/** A call of one of the provider's ports; `count` is 1 for the first of its method. */
export interface CloudCall extends PortCall {
  readonly port: (typeof ports)[number];
}

export interface SimulatedCloudOptions {
  /** Milliseconds until a call acts, and between the events of a build or a rollout; none where absent. */
  readonly latency?: (call: CloudCall) => number;
  /** What goes wrong; `after` in it: the cloud acts, and the answer is lost. */
  readonly fault?: (call: CloudCall) => Fault | undefined;
  /** Milliseconds until searches show a log entry, up to `capabilities.logs.settle_seconds`; none where absent. */
  readonly logDelay?: () => number;
  /** Replaces parts of what the memory provider offers. */
  readonly capabilities?: Partial<Capabilities>;
}

export interface SimulatedCloud {
  /** For `createControlPlane`. */
  readonly ports: Ports;
  readonly clock: ManualClock;
  /** The provider behind the delays and faults. */
  readonly memory: MemoryProvider;
  /** Moves the clock until the work is done. */
  during<T>(work: PromiseLike<T>): Promise<T>;
}

/** Short enough that what happens within a second keeps its order. */
const TICK_MS = 50;

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
