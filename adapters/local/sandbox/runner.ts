/**
 * How a command runs on this machine: a service's instance or a step of a build.
 * The engine above knows nothing of sandboxes; the runners below know nothing of services.
 */

import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Address, Sight } from "../instances/ready.ts";

/** The environment variable that marks a job's processes, so that they are found after their parents have ended. */
export const MARKER = "PORTSIDE_INSTANCE";

/** A folder or file of the host that the command sees at `inside`. */
export interface Bind {
  readonly host: string;
  readonly inside: string;
  readonly writable: boolean;
}

/** A folder that the command sees at `inside`, given open: its name may lead elsewhere by now. */
export interface OpenBind {
  readonly fd: number;
  /** Its name on the host, where nothing that a service can write lies on the way to it. */
  readonly host: string | undefined;
  readonly inside: string;
  readonly writable: boolean;
}

export interface Limits {
  /** Bytes for the whole process tree. */
  readonly memory: number;
  /** CPUs; a share, not a pin. */
  readonly cpu: number;
  /** Processes and threads. */
  readonly processes: number;
}

export interface Job {
  /** Unique on this machine; marks the job's processes. */
  readonly id: string;
  readonly argv: readonly [string, ...string[]];
  /** As the command sees it. */
  readonly cwd: string;
  /** The whole environment of the command, besides the marker. */
  readonly env: Readonly<Record<string, string>>;
  readonly binds: readonly Bind[];
  /** Mounted after `binds`. The caller closes them once `begun`; only runners that map paths take them. */
  readonly folders?: readonly OpenBind[];
  /** The uid and gid of its processes; absent: those of this process. */
  readonly user?: number;
  /** Whose it is, where accounts are kept apart. */
  readonly owner?: AccountId;
  /**
   * The port at which the command should be reached: the host's, or one of its own network where the runner makes one.
   * Absent if the command is not called.
   */
  readonly port?: number;
  /** Host names that lead to the loopback; only where it has a separate network. */
  readonly names?: readonly string[];
  /** Ports of the host's loopback that the command needs, such as a registry's; only where it has a separate network. */
  readonly hostPorts?: readonly number[];
  readonly limits: Limits;
}

export type OutputStream = "stdout" | "stderr";

/**
 * Takes a line without its end, and when it was said where somebody else read the clock; a returned promise holds back
 * further output until it is kept.
 */
export type OnLine = (stream: OutputStream, line: string, at?: Instant) => Promise<void> | undefined;

/** How a command ended. Exactly one of `code` and `signal` is set. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** It was ended for using more memory than its limit. */
  readonly outOfMemory: boolean;
  /** Memory far beyond its limit would have been refused it, for want of a control group that ends it in time. */
  readonly dataLimited?: boolean;
  /** Why the platform could not run it, or could no longer: nothing that the command did. */
  readonly failure?: DeployFailure;
  /** Somebody else has the port at which it should be reached. */
  readonly lostPort?: boolean;
}

export interface Running {
  readonly id: string;
  readonly startedAt: number;
  /** Resolves when it runs, or will not: what its job held open is no longer needed. */
  readonly begun: Promise<void>;
  /** Resolves when the command has ended, its output is read, and no process of it is left. */
  readonly exited: Promise<Exit>;
  /** Where this machine reaches it, if not at its job's port of the loopback. */
  readonly address?: Address | undefined;
  /** Whether it takes connections there; absent: a connection tells. */
  accepts?: (() => Promise<boolean>) | undefined;
  /** The ids of the command's processes on the host, sandbox helpers left out. */
  processes(): number[];
  /**
   * Where it listens.
   * @param port the host's, where it should be reached
   * @param open whether something accepts connections there
   */
  look(port: number, open: boolean): Promise<Sight>;
  /** Asks every process of the command to end. */
  terminate(): void;
  /** Ends every process of the command at once. */
  kill(): void;
}

export interface Runner {
  readonly kind: "container" | "bubblewrap" | "process";
  /** True where binds appear at their `inside` path; else a command sees host paths only. */
  readonly mapsPaths: boolean;
  /** True where it takes the `folders` of a job. */
  readonly mountsFolders: boolean;
  /** True if it takes the `user` of a job, else the reason that it does not. */
  readonly setsUser: true | string;
  /** What its sandbox lacks on this machine of what it has elsewhere. */
  readonly gaps?: readonly string[];
  /** True where each command has a separate network, and with it every port. */
  readonly ownNetwork: boolean;
  start(job: Job, onLine: OnLine): Running;
}

/** Ends a command: politely, then after `graceMillis` for good. */
export const stopRunning = async (running: Running, graceMillis: number): Promise<Exit> => {
  running.terminate();
  const timer = setTimeout(() => running.kill(), graceMillis);
  try {
    return await running.exited;
  } finally {
    clearTimeout(timer);
  }
};
