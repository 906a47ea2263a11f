/**
 * The interface between services and builds, which run commands, and the runners, which start them. Callers need no knowledge
 * of sandboxes, and runners none of services.
 */

import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Address, ListenState } from "../instances/listen-state.ts";

/** The environment variable that marks a job's processes. It identifies them even after their parents have ended. */
export const MARKER = "PORTSIDE_INSTANCE";

/** A folder or file of the host that the command sees at `inside`. */
export interface Bind {
  readonly host: string;
  readonly inside: string;
  readonly writable: boolean;
}

/** An open folder that the command sees at `inside`. A path could lead elsewhere by the time it is mounted. */
export interface OpenBind {
  readonly fd: number;
  /** The path on the host, if no service can write to any of its parent folders. */
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
}

export interface Job {
  /** Unique on this machine. Marks the job's processes. */
  readonly id: string;
  readonly argv: readonly [string, ...string[]];
  /** As the command sees it. */
  readonly cwd: string;
  /** The whole environment of the command, besides the marker. */
  readonly env: Readonly<Record<string, string>>;
  readonly binds: readonly Bind[];
  /** Mounted after `binds`, by runners that map paths. The caller must close them once `begun` has resolved. */
  readonly folders?: readonly OpenBind[];
  /** The uid and gid of its processes; defaults to those of this process. */
  readonly user?: number;
  /** The account, for runners that isolate accounts from each other. */
  readonly owner?: AccountId;
  /**
   * The port on which the command must listen: of the host, or of its separate network if the runner creates one.
   * Undefined if the command takes no requests.
   */
  readonly port?: number;
  /** Host names that resolve to the loopback address of its separate network. */
  readonly names?: readonly string[];
  /** Ports of the host's loopback address that its separate network must reach, such as a registry's. */
  readonly hostPorts?: readonly number[];
  readonly limits: Limits;
}

export type OutputStream = "stdout" | "stderr";

/**
 * Receives a line without its line break, and its time if a container engine recorded it. Further output waits for a returned
 * promise.
 */
export type OnLine = (stream: OutputStream, line: string, at?: Instant) => Promise<void> | undefined;

/** How a command ended. Exactly one of `code` and `signal` is set. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The command exceeded its memory limit and was killed. */
  readonly outOfMemory: boolean;
  /** The command ran without a control group, so the kernel refused allocations far beyond its limit (RLIMIT_DATA). */
  readonly dataLimited?: boolean;
  /** A failure of the platform, not of the command. */
  readonly failure?: DeployFailure;
  /** Another program has the port of the job. */
  readonly lostPort?: boolean;
}

export interface Running {
  readonly id: string;
  readonly startedAt: number;
  /** Resolves when the command runs or has failed to start. The caller may then close the job's folders. */
  readonly begun: Promise<void>;
  /** Resolves when the command has exited, its output has been read, and none of its processes is left. */
  readonly exited: Promise<Exit>;
  /** The address at which this machine connects to it; defaults to the job's port on the loopback address. */
  readonly address?: Address | undefined;
  /** Whether the command accepts connections; undefined if only a connection can show that. */
  accepts?: (() => Promise<boolean>) | undefined;
  /** The ids of the command's processes on the host, without the sandbox's own. */
  processes(): number[];
  /**
   * Reports where the command listens.
   * @param port the port of the host on which it must listen
   * @param open whether something accepts connections on the port
   */
  look(port: number, open: boolean): Promise<ListenState>;
  /** Sends SIGTERM to every process of the command. */
  terminate(): void;
  /** Sends SIGKILL to every process of the command. */
  kill(): void;
}

export interface Runner {
  readonly kind: "container" | "bubblewrap" | "process";
  /** True if binds appear at their `inside` path. Otherwise a command sees host paths only. */
  readonly mapsPaths: boolean;
  /** True if the runner supports the `folders` of a job. */
  readonly mountsFolders: boolean;
  /** True if the runner supports the `user` of a job, otherwise the reason why it does not. */
  readonly setsUser: true | string;
  /** Protections that the sandbox lacks on this machine. */
  readonly gaps?: readonly string[];
  /** True if each command has a separate network, in which every port is free. */
  readonly ownNetwork: boolean;
  start(job: Job, onLine: OnLine): Running;
}

/** Stops a command with SIGTERM, and after `graceMillis` with SIGKILL. */
export const stopRunning = async (running: Running, graceMillis: number): Promise<Exit> => {
  running.terminate();
  const timer = setTimeout(() => running.kill(), graceMillis);
  try {
    return await running.exited;
  } finally {
    clearTimeout(timer);
  }
};
