/**
 * The interface through which services and builds run commands. Callers do not know how a runner isolates commands, and
 * runners do not know the purpose of a command.
 */

import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Address, ListenState } from "../instances/listen-state.ts";

/** The environment variable that marks a job's processes, even after their parents have ended. */
export const MARKER = "PORTSIDE_INSTANCE";

/** A folder or file of this machine that the command sees at `inside`. */
export interface Bind {
  readonly host: string;
  readonly inside: string;
  readonly writable: boolean;
}

/**
 * An open folder that the command sees at `inside`. The folder is open because its path could lead elsewhere by the
 * time it is mounted.
 */
export interface OpenBind {
  readonly fd: number;
  /** The path on this machine, if no service can write to any of its parent folders. */
  readonly host: string | undefined;
  readonly inside: string;
  readonly writable: boolean;
}

export interface Limits {
  /** Bytes for the whole process tree. */
  readonly memory: number;
  /** CPU time, in CPUs. Does not pin processes to CPUs. */
  readonly cpu: number;
  /** The number of processes and threads. */
  readonly processes: number;
  /** Whether the command has a lower priority than services and the platform. */
  readonly yieldsCpu?: boolean;
}

export interface Job {
  /** Unique on this machine. Marks the job's processes. */
  readonly id: string;
  readonly argv: readonly [string, ...string[]];
  /** The working directory, as a path that the command sees. */
  readonly cwd: string;
  /** The complete environment of the command, without the marker. */
  readonly env: Readonly<Record<string, string>>;
  readonly binds: readonly Bind[];
  /** Mounted after `binds`, by runners that map paths. The caller must close them when `begun` has resolved. */
  readonly folders?: readonly OpenBind[];
  /** The uid and gid of the job's processes. Defaults to those of this process. */
  readonly user?: number;
  /** The account, for runners that isolate accounts from each other. */
  readonly owner?: AccountId;
  /**
   * The port on which the command must listen, in its separate network if the runner creates one, otherwise on this
   * machine. Undefined if the command takes no requests.
   */
  readonly port?: number;
  /** Host names that resolve to the loopback address of the job's separate network. */
  readonly names?: readonly string[];
  /** Ports of this machine's loopback address that the job's separate network must reach, such as a registry's. */
  readonly hostPorts?: readonly number[];
  readonly limits: Limits;
}

export type OutputStream = "stdout" | "stderr";

/**
 * Receives one or more lines of output, which `linesIn` splits, and their time if a container engine recorded the time.
 * If the function returns a promise, the runner reads more output only after the promise has resolved.
 */
export type OnOutput = (stream: OutputStream, lines: Buffer, at?: Instant) => Promise<void> | undefined;

/** How a command ended. Exactly one of `code` and `signal` is null. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The command exceeded its memory limit and was killed. */
  readonly outOfMemory: boolean;
  /**
   * The command ran without a control group. In this case, RLIMIT_DATA makes allocations far beyond the memory limit
   * fail.
   */
  readonly dataLimited?: boolean;
  /** A failure of the platform, not of the command. */
  readonly failure?: DeployFailure;
  /** Another program has taken the job's port. */
  readonly lostPort?: boolean;
}

/** The resources that a command uses. */
export interface ResourceUse {
  /** Bytes, without memory that a file on a disk backs. */
  readonly memory: number;
  /** The CPU time that the running processes have used, in milliseconds. */
  readonly cpuMillis: number;
}

export interface Running {
  readonly id: string;
  readonly startedAt: number;
  /** Resolves when the command runs or has failed to start. The caller may then close the job's folders. */
  readonly begun: Promise<void>;
  /**
   * Resolves when the command has exited and none of its processes is left. Waits a limited time until the output has
   * been read.
   */
  readonly exited: Promise<Exit>;
  /** The address through which the platform connects to the command. Defaults to the job's port on 127.0.0.1. */
  readonly address?: Address | undefined;
  /** Returns whether the command accepts connections. Undefined if only a connection can show this. */
  accepts?: (() => Promise<boolean>) | undefined;
  /** Returns the pids of the command's processes on this machine, without the sandbox's own processes. */
  processes(): number[];
  /**
   * Returns where the command listens.
   * @param port this machine's port on which the command must listen
   * @param open whether any program accepts connections on the port
   */
  listenState(port: number, open: boolean): Promise<ListenState>;
  /**
   * Pauses every process of the command, which keeps its memory. Rejects if the platform cannot pause them. `kill`
   * also ends a frozen command.
   */
  freeze(): Promise<void>;
  /** Resumes a frozen command. Does nothing for other commands. A call during `freeze` takes effect after it. */
  thaw(): Promise<void>;
  /**
   * Returns the bytes of memory that the command uses. If the platform cannot measure them, returns the limit of a
   * container, or 0 for a plain process.
   */
  memory(): number;
  /** Returns what the command's processes use, or undefined if the platform cannot measure it. */
  use(): ResourceUse | undefined;
  /** Sends SIGTERM to the command. The caller must thaw a frozen command first. */
  terminate(): void;
  /** Sends SIGKILL to every process of the command. */
  kill(): void;
}

export interface Runner {
  readonly kind: "container" | "bubblewrap" | "process";
  /** True if binds appear at their `inside` paths. Otherwise a command sees only the paths of this machine. */
  readonly mapsPaths: boolean;
  /** True if the runner supports the `folders` of a job. */
  readonly mountsFolders: boolean;
  /** True if the runner supports the `user` of a job, otherwise the reason why it does not. */
  readonly setsUser: true | string;
  /** Protections that the sandbox lacks on this machine. */
  readonly gaps?: readonly string[];
  /** True if each command has a separate network, in which every port is free. */
  readonly ownNetwork: boolean;
  start(job: Job, onOutput: OnOutput): Running;
}

/** Stops a command with SIGTERM, and with SIGKILL if it still runs after `graceMillis`. Thaws a frozen command. */
export const stopRunning = async (running: Running, graceMillis: number): Promise<Exit> => {
  const timer = setTimeout(() => running.kill(), graceMillis);
  try {
    // If the thaw fails or hangs, `kill` ends the command.
    await Promise.race([running.thaw().catch(() => undefined), running.exited]);
    running.terminate();
    return await running.exited;
  } finally {
    clearTimeout(timer);
  }
};
