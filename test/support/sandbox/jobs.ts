/** Commands on each runner of this machine, with each way of enforcing limits, without services. */
import { randomUUID } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { allProcesses, environmentOf } from "../../../adapters/local/instances/proc.ts";
import { linesIn } from "../../../adapters/local/instances/read-lines.ts";
import { createBubblewrapRunner } from "../../../adapters/local/sandbox/bubblewrap.ts";
import { findControlGroups } from "../../../adapters/local/sandbox/cgroup.ts";
import { killOrphans } from "../../../adapters/local/sandbox/launch.ts";
import { createProcessRunner } from "../../../adapters/local/sandbox/process-runner.ts";
import type { Exit, Job, Runner, Running } from "../../../adapters/local/sandbox/runner.ts";
import { MARKER } from "../../../adapters/local/sandbox/runner.ts";
import { Watchdog } from "../../../adapters/local/sandbox/watchdog.ts";
import { runners } from "../providers/local-platform.ts";

export interface JobSetup {
  readonly kind: "bubblewrap" | "process";
  readonly limits: "cgroup" | "watchdog";
}

const ways =
  findControlGroups("portside-probe") === undefined ? (["watchdog"] as const) : (["cgroup", "watchdog"] as const);

/** Sandboxes with each way of enforcing limits. Tests of these need bubblewrap. */
export const sandboxSetups: readonly JobSetup[] = ways.map((limits) => ({ kind: "bubblewrap", limits }));

/** Every combination that works on this machine. */
export const jobSetups: readonly JobSetup[] = runners.flatMap((kind) => ways.map((limits) => ({ kind, limits })));

export interface Started {
  readonly running: Running;
  readonly stdout: string[];
  readonly stderr: string[];
  /** Resolves when standard output has a line that equals or begins with `text`. */
  printed(text: string): Promise<string>;
}

export interface Bench extends AsyncDisposable {
  readonly runner: Runner;
  /** The prefix of the ids of the bench's jobs, up to a dot. */
  readonly scope: string;
  /** A folder of this machine; plain processes start in it. */
  readonly folder: string;
  start(argv: Job["argv"], options?: Partial<Job>): Started;
  run(argv: Job["argv"], options?: Partial<Job>): Promise<Exit & { stdout: string[]; stderr: string[] }>;
  /** The ids of live processes that have the marker of one of the bench's jobs. */
  survivors(): number[];
}

export const sh = (script: string): Job["argv"] => ["sh", "-c", script];
export const node = (code: string): Job["argv"] => [process.execPath, "-e", code];

/** Live processes whose marker has this prefix, with their instances. */
export const marked = (prefix: string): { readonly pid: number; readonly instance: string }[] =>
  allProcesses().flatMap(({ pid }) => {
    const entry = environmentOf(pid).find((one) => one.startsWith(`${MARKER}=${prefix}`));
    // Sandbox networks have processes too, one of them created in advance.
    return entry === undefined || entry.includes(".network-")
      ? []
      : [{ pid, instance: entry.slice(MARKER.length + 1) }];
  });

export const markedProcesses = (prefix: string): number[] => marked(prefix).map(({ pid }) => pid);

const nodeBind = process.execPath.startsWith("/usr/")
  ? []
  : [{ host: process.execPath, inside: process.execPath, writable: false }];

export const createBench = async ({ kind, limits }: JobSetup): Promise<Bench> => {
  const scope = `test${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  const folder = await mkdtemp(join(tmpdir(), "portside-job-"));
  await chmod(folder, 0o755);
  const groups = limits === "cgroup" ? findControlGroups(`portside-${scope}`) : undefined;
  const made =
    kind === "process"
      ? createProcessRunner(groups, new Watchdog())
      : createBubblewrapRunner(join(folder, "sandbox"), groups, new Watchdog(), 2_100_000_000);
  if (typeof made === "string") throw new Error(made);
  const runner = made;
  let count = 0;
  const start: Bench["start"] = (argv, options = {}) => {
    const stdout: string[] = [];
    const stderr: string[] = [];
    const waiting = new Set<() => void>();
    const running = runner.start(
      {
        id: `${scope}.${++count}`,
        argv,
        cwd: kind === "process" ? folder : "/tmp",
        env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` },
        limits: { memory: 256 * 1024 ** 2, cpu: 1, processes: 100 },
        ...options,
        binds: [...nodeBind, ...(options.binds ?? [])],
      },
      (stream, lines) => {
        (stream === "stdout" ? stdout : stderr).push(...linesIn(lines));
        for (const look of waiting) look();
        return undefined;
      },
    );
    const printed: Started["printed"] = (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const line = stdout.find((one) => one.startsWith(text));
          if (line === undefined) return;
          waiting.delete(look);
          resolve(line);
        };
        waiting.add(look);
        look();
        void running.exited.then(() => reject(new Error(`it ended without printing '${text}': ${stdout} ${stderr}`)));
      });
    return { running, stdout, stderr, printed };
  };
  return {
    runner,
    scope,
    folder,
    start,
    run: async (argv, options) => {
      const { running, stdout, stderr } = start(argv, options);
      return { ...(await running.exited), stdout, stderr };
    },
    survivors: () => markedProcesses(`${scope}.`),
    [Symbol.asyncDispose]: async () => {
      await killOrphans(scope);
      await groups?.sweep();
      groups?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
