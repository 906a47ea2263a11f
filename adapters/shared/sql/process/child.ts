/**
 * One account's process, seen from the control plane: started under limits of the operating system, given an order at a
 * time, and killed where it keeps its caller waiting.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { SqlNews, SqlOrder } from "./protocol.ts";

const MiB = 1024 * 1024;

/** What the process may reserve (RLIMIT_DATA): beyond it, an allocation fails inside of it and nowhere else. */
const DATA_BYTES = 2048 * MiB;
/** What it may hold; looked at while it works. */
const RESIDENT_BYTES = 1024 * MiB;
/** It rests with some 200 MiB; one that has kept more than this is not used again. */
const WORN_BYTES = 512 * MiB;
/** What it has reserved counts, too: freed memory that stays reserved leaves the parser's WebAssembly none to grow. */
const WORN_DATA_BYTES = DATA_BYTES / 2;
const LOOK_MS = 100;
const START_MS = 20_000;

export class ProcessEnded extends Error {
  /** It held too much memory, or a signal ended it that was not ours, which is what becomes of a process that gets none. */
  readonly memory: boolean;
  constructor(memory: boolean) {
    super("the process of the query ended");
    this.memory = memory;
  }
}

const limited = (argv: readonly string[]): [string, string[]] => [
  "sh",
  ["-c", `ulimit -d ${DATA_BYTES / 1024} 2>/dev/null; ulimit -c 0 2>/dev/null; exec "$@"`, "sh", ...argv],
];

/** The order that this process gave made the parser fail; the process has ended. */
export class ChildTrapped extends Error {}

/** https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html */
const memoryOf = (pid: number | undefined): { readonly resident: number; readonly data: number } => {
  try {
    const [, resident, , , , data] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return { resident: Number(resident) * 4096, data: Number(data) * 4096 };
  } catch {
    return { resident: 0, data: 0 };
  }
};

const isWorn = (pid: number | undefined): boolean => {
  const { resident, data } = memoryOf(pid);
  return resident > WORN_BYTES || data > WORN_DATA_BYTES;
};

export class SqlChild {
  readonly #child: ChildProcess;
  readonly #ended = Promise.withResolvers<void>();
  #hear: ((news: SqlNews | undefined) => void) | undefined;
  #tooBig = false;
  #over = false;
  #gone = false;
  #killed = false;
  #signalled = false;

  private constructor(script: URL, args: readonly string[], compiled: string | undefined) {
    // Optimising the parser's 22 MB of WebAssembly costs 30 MB a statement and gains nothing: each is parsed once.
    const options = ["--max-old-space-size=384", "--liftoff-only", "--disable-warning=ExperimentalWarning"];
    const [command, argv] = limited([process.execPath, ...options, fileURLToPath(script), ...args]);
    // Not the environment of the control plane, which has its secrets; the engine counts days in UTC.
    // Node would make the folders around it, too, open to other users.
    const cache = compiled !== undefined && existsSync(dirname(compiled)) ? { NODE_COMPILE_CACHE: compiled } : {};
    const env = { TZ: "UTC", PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...cache };
    this.#child = spawn(command, argv, {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
      env,
    });
    this.#child.on("message", (news) => {
      if (["broken", "trapped"].includes((news as SqlNews).kind)) this.#over = true;
      this.#hear?.(news as SqlNews);
    });
    this.#child.on("error", () => this.#end());
    this.#child.on("exit", (_code, signal) => {
      this.#signalled = signal !== null;
      this.#end();
    });
  }

  /** Starts one; throws `ProcessEnded` where it does not come up. */
  static async start(script: URL, args: readonly string[], compiled?: string): Promise<SqlChild> {
    const child = new SqlChild(script, args, compiled);
    const deadline = setTimeout(() => child.kill(), START_MS);
    try {
      const [first] = await Array.fromAsync(child.#listen((news) => news.kind === "ready"));
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

  /**
   * Gives an order and everything that is said about it; throws `ProcessEnded` where the process ends before, and `ChildTrapped`.
   */
  async *tell(order: SqlOrder): AsyncGenerator<SqlNews> {
    const look = setInterval(() => this.#look(), LOOK_MS);
    this.#child.ref();
    this.#child.channel?.ref();
    try {
      const news = this.#listen(({ kind }) => kind !== "caught_up" && kind !== "columns" && kind !== "rows");
      this.#child.send(order, () => {});
      for await (const one of news) {
        if (one.kind === "trapped") throw new ChildTrapped(one.message);
        yield one;
      }
    } finally {
      clearInterval(look);
      this.#rest();
      if (!this.#over && isWorn(this.#child.pid)) this.kill();
    }
  }

  kill(): void {
    // Whoever comes next gets another one, also before the kernel has ended this one.
    this.#over = true;
    this.#killed = true;
    this.#child.kill("SIGKILL");
  }

  /** Resolves when it is gone. */
  async close(): Promise<void> {
    if (this.#gone) return;
    this.#child.ref();
    this.kill();
    await this.#ended.promise;
  }

  /** While it has nothing to do, it keeps no program from ending; it ends with it. */
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
    this.#hear?.(undefined);
    this.#ended.resolve();
  }

  #listen(isLast: (news: SqlNews) => boolean): AsyncGenerator<SqlNews> {
    const heard: (SqlNews | undefined)[] = this.#gone ? [undefined] : [];
    let wake: (() => void) | undefined;
    this.#hear = (news) => {
      heard.push(news);
      wake?.();
    };
    const ended = () => new ProcessEnded(this.#tooBig || (this.#signalled && !this.#killed));
    return (async function* listen() {
      for (;;) {
        if (heard.length === 0)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        const news = heard.shift();
        if (news === undefined) throw ended();
        yield news;
        if (isLast(news)) return;
      }
    })();
  }
}
