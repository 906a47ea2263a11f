/**
 * The connection between the supervisor of `--supervise` and the process that serves. An upgrade passes the connection
 * to the new process. The kernel closes the connection when either side ends, even if a signal kills that side.
 */
import { Socket } from "node:net";
import type { LogLevel } from "../../composition/logger.ts";

/** The descriptor of the connection in a supervised process, after the standard streams and Node's IPC channel. */
export const LIFELINE_FD = 4;

/** The environment variable that is set for a process that holds the connection. */
export const SUPERVISED = "PORTSIDE_SUPERVISED";

/** The reports of a process that serves, one per line. */
export type LifelineReport =
  /** The process is ready. After an upgrade, it replaces the previous process. */
  | { readonly kind: "ready"; readonly pid: number; readonly logLevel: LogLevel; readonly canUpgrade: boolean }
  /** The process has stopped on request, not because of a failure. */
  | { readonly kind: "stopped" };

export class Lifeline {
  readonly #socket = new Socket({ fd: LIFELINE_FD, allowHalfOpen: true });
  readonly #ended = new AbortController();

  constructor() {
    const end = () => this.#ended.abort();
    this.#socket
      .on("error", () => undefined)
      .once("end", end)
      .once("close", end)
      .resume()
      .unref();
  }

  /** Aborts when the supervisor ends or asks this process to stop. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  report(report: LifelineReport): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(report)}\n`);
  }

  /** Leaves the connection to the process that has taken over. `end` would shut it down for both processes. */
  leave(): void {
    this.#socket.destroy();
  }
}
