/**
 * `portside serve --supervise`: runs `portside serve` as a child process, and starts it again when it ends
 * unexpectedly. This process loads neither the platform nor its settings, so that it stays small.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { LogLevel } from "../../composition/logger.ts";
import type { Io } from "../terminal/io.ts";
import { sayError } from "../terminal/safe-text.ts";
import { countFailures, restartDelay } from "./restart-delay.ts";

/** The message that `portside serve` sends to its parent when the platform is ready. */
export interface ReadyMessage {
  readonly logLevel: LogLevel;
}

interface Ended {
  readonly code: number;
  /** The exit code, the signal, or the reason why the process could not be created. */
  readonly how: number | string;
  /** How long the platform was ready. */
  readonly readyMs: number;
}

/** Runs this process's script with other arguments until it ends. Rejects if the process cannot be created. */
const run = async (
  args: readonly string[],
  stop: AbortSignal,
  onReady: (message: ReadyMessage) => void,
): Promise<Ended> => {
  const child = fork(process.argv[1] as string, args);
  let readyAt = Number.POSITIVE_INFINITY;
  child.once("message", (message: ReadyMessage) => {
    readyAt = performance.now();
    onReady(message);
  });
  // Not a signal: Ctrl-C reaches the child too, and a second signal would end it immediately.
  const disconnect = () => {
    if (child.connected) child.disconnect();
  };
  // After a second Ctrl-C or SIGTERM, this process exits without waiting for the child.
  const kill = () => child.kill("SIGKILL");
  stop.addEventListener("abort", disconnect);
  process.once("exit", kill);
  try {
    const ended = once(child, "exit") as Promise<[number, null] | [null, NodeJS.Signals]>;
    // The child's messages may arrive after its exit, but before this event.
    const [[code, signal]] = await Promise.all([ended, once(child, "disconnect")]);
    const readyMs = Math.max(0, performance.now() - readyAt);
    return signal === null
      ? { code, how: code, readyMs }
      : { code: 128 + constants.signals[signal], how: signal, readyMs };
  } finally {
    stop.removeEventListener("abort", disconnect);
    process.off("exit", kill);
  }
};

/** Resolves to the exit code of the last child, or to 0 if `io.signal` aborts between two children. */
export const supervise = async (args: readonly string[], io: Io): Promise<number> => {
  const stop = io.signal;
  let childArgs = args.filter((word) => word !== "--supervise");
  let logLevel: LogLevel | undefined;
  let failures = 0;
  while (!stop.aborted) {
    const onReady = (message: ReadyMessage) => {
      logLevel = message.logLevel;
    };
    const notCreated = ({ message }: Error): Ended => ({ code: 1, how: message, readyMs: 0 });
    const { code, how, readyMs } = await run(childArgs, stop, onReady).catch(notCreated);
    if (code === 0 || stop.aborted) return code;
    if (logLevel === undefined) {
      // A child that exits with a code has printed the reason.
      if (typeof how === "string") sayError(io, `The platform's process ended before it was ready: ${how}.`);
      return code;
    }
    failures = countFailures(failures, readyMs);
    const { createPino } = await import("../../composition/logger.ts");
    createPino(logLevel).warn({ how }, "the engine ended; it starts again");
    // A later start must reject a state that was damaged in the meantime.
    childArgs = childArgs.filter((word) => word !== "--accept-state");
    await sleep(restartDelay(failures), undefined, { signal: stop }).catch(() => undefined);
  }
  return 0;
};
