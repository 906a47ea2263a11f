/**
 * How a command runs on this machine: a service's instance or a step of a build.
 * The engine above knows nothing of sandboxes; the runners below know nothing of services.
 */

/** A folder or file of the host that the command sees at `inside`. */
export interface Bind {
  readonly host: string;
  readonly inside: string;
  readonly writable: boolean;
}

/** A folder that the command sees at `inside`, given open: its name may lead elsewhere by now. */
export interface OpenBind {
  readonly fd: number;
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
  /** Mounted after `binds`. The caller closes them once `start` has returned; only runners that map paths take them. */
  readonly folders?: readonly OpenBind[];
  readonly limits: Limits;
}

export type OutputStream = "stdout" | "stderr";

/** Takes a line without its end; a returned promise holds back further output until it is kept. */
export type OnLine = (stream: OutputStream, line: string) => Promise<void> | undefined;

/** How a command ended. Exactly one of `code` and `signal` is set. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** It was ended for using more memory than its limit. */
  readonly outOfMemory: boolean;
}

export interface Running {
  readonly id: string;
  readonly startedAt: number;
  /** Resolves when the command has ended, its output is read, and no process of it is left. */
  readonly exited: Promise<Exit>;
  /** The ids of the command's processes on the host, sandbox helpers left out. */
  processes(): number[];
  /** Asks every process of the command to end. */
  terminate(): void;
  /** Ends every process of the command at once. */
  kill(): void;
}

export interface Runner {
  readonly kind: "bubblewrap" | "process";
  /** True where binds appear at their `inside` path; else a command sees host paths only. */
  readonly mapsPaths: boolean;
  /** True where it takes the `folders` of a job. */
  readonly mountsFolders: boolean;
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
