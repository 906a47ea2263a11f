/**
 * Starts and controls one account's SQL process. The process runs under limits of the operating system and receives one
 * request at a time. Callers kill the process if a request exceeds its timeout.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { on } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { lowerPriority } from "../../runtime/low-priority.ts";
import { tryOr } from "../../runtime/try-or.ts";
import type { SqlReply, SqlRequest } from "./protocol.ts";

const MiB = 1024 * 1024;

/** Maximum reserved memory (RLIMIT_DATA). Allocations beyond it fail in the process. */
const DATA_BYTES = 2048 * MiB;
/** Maximum resident memory, checked while the process works. */
const RESIDENT_BYTES = 1024 * MiB;
/** Maximum resident memory of a process that is reused. An idle process uses about 200 MiB. */
const MAX_REUSED_BYTES = 512 * MiB;
/**
 * Maximum reserved memory of a process that is reused. Memory that stays reserved after use would prevent the parser's
 * WebAssembly from growing.
 */
const MAX_REUSED_DATA_BYTES = DATA_BYTES / 2;
const LOOK_MS = 100;
const START_MS = 20_000;

export class ProcessEnded extends Error {
  /**
   * True if the process exceeded its memory limit, or if the kernel or another process killed it. The kernel kills
   * processes when the machine runs out of memory.
   */
  readonly memory: boolean;
  constructor(memory: boolean) {
    super("the SQL process ended");
    this.memory = memory;
  }
}

/**
 * Runs a command under limits. If `setpriv` is installed, the kernel also ends the process with its parent: during a
 * statement, the process cannot notice that the server was killed. https://man7.org/linux/man-pages/man1/setpriv.1.html
 */
const limited = (argv: readonly string[]): [string, string[]] => {
  const limits = `ulimit -d ${DATA_BYTES / 1024} 2>/dev/null; ulimit -c 0 2>/dev/null`;
  // BusyBox has a command of this name without the option.
  const tie = "setpriv --pdeathsig KILL";
  const run = `${tie} true 2>/dev/null && exec ${tie} "$@"; exec "$@"`;
  return ["sh", ["-c", `${limits}; ${run}`, "sh", ...argv]];
};

/** Thrown if a request made the parser trap. The process has ended. */
export class ChildTrapped extends Error {}

/** Thrown if a request made the database unusable. The process has ended. */
export class DatabaseBroken extends Error {}

/** https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html */
const memoryOf = (pid: number | undefined): { readonly resident: number; readonly data: number } => {
  try {
    const [, resident, , , , data] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return { resident: Number(resident) * 4096, data: Number(data) * 4096 };
  } catch {
    return { resident: 0, data: 0 };
  }
};

const exceedsReuseLimits = (pid: number | undefined): boolean => {
  const { resident, data } = memoryOf(pid);
  return resident > MAX_REUSED_BYTES || data > MAX_REUSED_DATA_BYTES;
};

export class SqlChild {
  readonly #child: ChildProcess;
  readonly #ended = Promise.withResolvers<void>();
  #tooBig = false;
  #over = false;
  #gone = false;
  #killed = false;
  #signalled = false;

  private constructor(script: URL, args: readonly string[], compiled: string | undefined) {
    // Optimizing the parser's 22 MB of WebAssembly costs 30 MB per statement and gains nothing, because each statement
    // is parsed once.
    const options = ["--max-old-space-size=384", "--liftoff-only", "--disable-warning=ExperimentalWarning"];
    const [command, argv] = limited([process.execPath, ...options, fileURLToPath(script), ...args]);
    // Of the control plane's environment, which contains secrets, the process inherits only PATH. With TZ, DuckDB
    // counts days in UTC. The cache's parent folder must exist, because Node would create a folder that other users can
    // read.
    const cache = compiled !== undefined && existsSync(dirname(compiled)) ? { NODE_COMPILE_CACHE: compiled } : {};
    const env = { TZ: "UTC", PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...cache };
    this.#child = spawn(command, argv, {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
      env,
      // In a separate session, the process has a lower priority than services in other control groups.
      detached: true,
    });
    const { pid } = this.#child;
    // The SQL process must not delay services, at its start or later. The call fails if the process has already ended.
    if (pid !== undefined) tryOr(() => lowerPriority(pid), undefined);
    this.#child.on("message", ({ kind }: SqlReply) => {
      if (kind === "broken" || kind === "trapped") this.#over = true;
    });
    this.#child.on("error", () => this.#end());
    this.#child.on("exit", (_code, signal) => {
      this.#signalled = signal !== null;
      this.#end();
    });
  }

  /** Starts a process. Throws if it does not start. */
  static async start(script: URL, args: readonly string[], compiled?: string): Promise<SqlChild> {
    const child = new SqlChild(script, args, compiled);
    const deadline = setTimeout(() => child.kill(), START_MS);
    try {
      const [first] = await Array.fromAsync(child.#listen((reply) => reply.kind === "ready"));
      if (first?.kind !== "ready") throw new ProcessEnded(false);
      child.#rest();
      return child;
    } finally {
      clearTimeout(deadline);
    }
  }

  get isOver(): boolean {
    return this.#over;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Sends a request and yields its replies. Throws `ProcessEnded` if the process ends first. */
  async *send(request: SqlRequest): AsyncGenerator<SqlReply> {
    const look = setInterval(() => this.#look(), LOOK_MS);
    this.#child.ref();
    this.#child.channel?.ref();
    try {
      const replies = this.#listen(({ kind }) => kind !== "caught_up" && kind !== "columns" && kind !== "rows");
      this.#child.send(request, () => {});
      for await (const one of replies) {
        if (one.kind === "trapped") throw new ChildTrapped(one.message);
        if (one.kind === "broken") throw new DatabaseBroken(one.message);
        yield one;
      }
    } finally {
      clearInterval(look);
      this.#rest();
      if (!this.#over && exceedsReuseLimits(this.#child.pid)) this.kill();
    }
  }

  kill(): void {
    // The next caller must get a new process, even before the kernel has ended this one.
    this.#over = true;
    this.#killed = true;
    this.#child.kill("SIGKILL");
  }

  /** Ends the process. Resolves when it has exited. */
  async close(): Promise<void> {
    if (this.#gone) return;
    this.#child.ref();
    this.kill();
    await this.#ended.promise;
  }

  /** Lets the program exit while the process is idle. The process then ends too. */
  #rest(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  #look(): void {
    if (memoryOf(this.#child.pid).resident <= RESIDENT_BYTES) return;
    this.#tooBig = true;
    this.kill();
  }

  #end(): void {
    this.#over = true;
    this.#gone = true;
    this.#ended.resolve();
  }

  /** Yields messages up to the last one. Throws `ProcessEnded` if the process ends first. */
  async *#listen(isLast: (reply: SqlReply) => boolean): AsyncGenerator<SqlReply> {
    if (!this.#gone)
      for await (const [reply] of on(this.#child, "message", { close: ["exit"] }) as AsyncIterable<[SqlReply]>) {
        yield reply;
        if (isLast(reply)) return;
      }
    throw new ProcessEnded(this.#tooBig || (this.#signalled && !this.#killed));
  }
}
