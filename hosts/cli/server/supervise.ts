/**
 * `portside serve --supervise`: runs `portside serve` as a child process, and starts it again when it ends
 * unexpectedly. To stay small, this process loads neither the platform nor its settings.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { isatty } from "node:tty";
import type { LogLevel } from "../../composition/logger.ts";
import type { Io } from "../terminal/io.ts";
import { sayError } from "../terminal/safe-text.ts";
import { LIFELINE_FD, type LifelineReport, SUPERVISED } from "./lifeline.ts";
import { countFailures, restartDelay } from "./restart-delay.ts";

type Ready = LifelineReport & { readonly kind: "ready" };

interface Ended {
  readonly code: number;
  /** The exit code, the signal, or the reason why the process could not be created. */
  readonly how: number | string;
  /** How long the platform was ready. */
  readonly readyMs: number;
}

/** A process that has already ended needs no signal. */
const signalTo = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
};

/**
 * Runs this process's script with other arguments in a child process. Resolves when the child has ended and, after an
 * upgrade, the process that replaced it has ended too. Rejects if the child cannot be created.
 */
const run = async (args: readonly string[], stop: AbortSignal, onReady: (ready: Ready) => void): Promise<Ended> => {
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] as string, ...args], {
    stdio: ["inherit", "inherit", "inherit", "ignore", "pipe"],
    env: { ...process.env, [SUPERVISED]: "1" },
  });
  const lifeline = child.stdio[LIFELINE_FD] as Socket;
  lifeline.on("error", () => undefined);
  let readyAt = Number.POSITIVE_INFINITY;
  let serving: Ready | undefined;
  let isStopped = false;
  createInterface({ input: lifeline }).on("line", (line) => {
    const report = JSON.parse(line) as LifelineReport;
    if (report.kind === "stopped") isStopped = true;
    else {
      readyAt = performance.now();
      serving = report;
      onReady(report);
    }
  });
  // Closes the lifeline instead of sending a signal: Ctrl-C reaches the child too, and a second signal would end it
  // immediately.
  const disconnect = () => lifeline.end();
  // After a second Ctrl-C or SIGTERM, this process exits without waiting for the child.
  const kill = () => {
    child.kill("SIGKILL");
    if (serving !== undefined && serving.pid !== child.pid) signalTo(serving.pid, "SIGKILL");
  };
  // On a terminal, SIGHUP means that the terminal has been closed.
  const upgrade = () => {
    if (serving?.canUpgrade === true) signalTo(serving.pid, "SIGHUP");
    else {
      // Ends this process, as SIGHUP would without a handler.
      process.off("SIGHUP", upgrade);
      process.kill(process.pid, "SIGHUP");
    }
  };
  if (!isatty(0)) process.on("SIGHUP", upgrade);
  stop.addEventListener("abort", disconnect);
  process.once("exit", kill);
  try {
    const ended = once(child, "exit") as Promise<[number, null] | [null, NodeJS.Signals]>;
    // The reports may arrive after the exit, but always before the lifeline closes.
    const [[code, signal]] = await Promise.all([ended, once(lifeline, "close")]);
    const readyMs = Math.max(0, performance.now() - readyAt);
    // A process can read only the exit status of its children.
    if (serving !== undefined && serving.pid !== child.pid)
      return isStopped ? { code: 0, how: 0, readyMs } : { code: 1, how: "unknown", readyMs };
    return signal === null
      ? { code, how: code, readyMs }
      : { code: 128 + constants.signals[signal], how: signal, readyMs };
  } finally {
    process.off("SIGHUP", upgrade);
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
    const onReady = (ready: Ready) => {
      logLevel = ready.logLevel;
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
    createPino(logLevel).warn({ how }, "the platform ended; restarting it");
    // A later start must reject a state that was damaged in the meantime.
    childArgs = childArgs.filter((word) => word !== "--accept-state");
    await sleep(restartDelay(failures), undefined, { signal: stop }).catch(() => undefined);
  }
  return 0;
};
