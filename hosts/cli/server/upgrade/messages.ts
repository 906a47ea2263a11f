/**
 * The messages of an upgrade, over Node's IPC channel. The running engine's process sends messages to the new process,
 * which answers each one, in order.
 */
import type { Handover, RunningEngine } from "../../../composition/local-engine.ts";

export type UpgradeMessage =
  /** Opens the data folder while the running engine uses it, and starts instances of the running services. */
  | { readonly kind: "open"; readonly running: RunningEngine; readonly apiPort: number }
  /**
   * Starts instances of services that have changed since `open`. The server has ended, so the state no longer changes.
   */
  | { readonly kind: "settle"; readonly running: RunningEngine }
  /** Sent with a listening server of the ingress. */
  | { readonly kind: "port"; readonly port: number }
  /** Sent with a listening server of the API. */
  | { readonly kind: "api" }
  /** Takes over the data folder. The result is the path of the engine's socket. */
  | { readonly kind: "lead"; readonly handover: Handover }
  /**
   * Answered when the new server has started. Then the running engine stops accepting connections and closes the IPC
   * channel, and the new server serves the API.
   */
  | { readonly kind: "ready" };

/** The answer to a message: its result, or the reason why the new process cannot take over. */
export type UpgradeAnswer = { readonly result: unknown } | { readonly error: string };

/** The environment variable that is set for a process of `portside serve` that replaces its parent. */
export const SUCCESSOR = "PORTSIDE_SUCCESSOR";
