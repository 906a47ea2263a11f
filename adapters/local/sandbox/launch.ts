/**
 * Starts a command and tracks its processes until all have ended. The process and bubblewrap runners share this code.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { lowerPriority } from "../../shared/runtime/low-priority.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import { exitOf } from "../instances/exit-code.ts";
import { type Address, type ListenState, listenStateOf, watchNetwork } from "../instances/listen-state.ts";
import {
  allPids,
  allProcesses,
  environmentOf,
  memoryOfAll,
  type ProcessInfo,
  processInfo,
  programOf,
  signalProcess,
  treeOf,
  useOf,
} from "../instances/proc.ts";
import { readLines } from "../instances/read-lines.ts";
import type { ControlGroup } from "./cgroup.ts";
import { namespacesOf } from "./network/enter-network.ts";
import type { Network } from "./network/pasta.ts";
import { type Exit, type Job, MARKER, type OnOutput, type ResourceUse, type Running } from "./runner.ts";
import type { Watchdog, Watched } from "./watchdog.ts";

/** A descriptor that a command inherits in addition to its standard streams. */
export type Descriptor =
  /** Data that the command reads. */
  | { readonly input: string | Uint8Array }
  /** An open descriptor of this process. */
  | { readonly open: number }
  /** A connection on which the command checks whether this process is alive. */
  | { readonly gate: true }
  /**
   * A pipe that receives the path of the command's network namespaces once they exist. `false` if the command has no
   * separate network.
   */
  | { readonly network: boolean };

export interface Launch {
  readonly job: Job;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The working directory, as a path on this machine. */
  readonly cwd: string;
  /** The command's file descriptors, starting with number `FIRST_DESCRIPTOR`. */
  readonly descriptors?: readonly Descriptor[];
  /** The names of the programs that set up the sandbox. They do not count as processes of the command. */
  readonly helpers?: readonly string[];
  /** The command's in-memory file systems. */
  readonly memoryFolders?: readonly string[];
  readonly group: ControlGroup | undefined;
  /** The separate network of the command, which ends with the command. */
  readonly network?: Promise<Network> | undefined;
  /** Called once, when the command first listens in its separate network. */
  readonly onListening?: (() => void) | undefined;
  readonly watchdog: Watchdog;
}

/**
 * The number of consecutive polls that must find no process. One is not enough: a process shows no environment during
 * `execve`, and a poll can miss a child that starts while its parent ends.
 */
const QUIET_POLLS = 6;
const POLL_MS = 20;
const MAX_POLLS = 100;

const isMarkOf =
  (id: string) =>
  (entry: string): boolean =>
    entry === `${MARKER}=${id}`;

/** Yields the processes with a matching entry in their environment, the newest first. */
function* markedPids(isMark: (entry: string) => boolean): Generator<number> {
  for (const pid of allPids().toReversed()) if (environmentOf(pid).some(isMark)) yield pid;
}

/** The maximum number of rounds of `stopAll`, which a fork bomb could otherwise keep busy forever. */
const MAX_ROUNDS = 20;

/**
 * Stops processes with SIGSTOP until no new one appears, because a process can fork before it stops. Returns the pids.
 * @param members returns the processes; `stopAll` stops each process before it reads the next one
 */
const stopAll = (members: () => Iterable<number>): number[] => {
  const stopped = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = stopped.size;
    for (const pid of members()) {
      if (!stopped.has(pid)) signalProcess(pid, "SIGSTOP");
      stopped.add(pid);
    }
    if (stopped.size === before) break;
  }
  return [...stopped];
};

/**
 * Kills every process with a matching entry in its environment. Gives up after `MAX_POLLS`, for example if a fork bomb
 * keeps adding processes.
 */
const killByEnvironment = async (isMark: (entry: string) => boolean): Promise<void> => {
  let quiet = 0;
  for (let round = 0; round < MAX_POLLS && quiet < QUIET_POLLS; round++) {
    // First stop all, because a process that still runs may start another one, or continue when its child ends.
    const marked = stopAll(() => markedPids(isMark));
    for (const pid of marked) signalProcess(pid, "SIGKILL");
    if (round === 0 && marked.length === 0) return;
    quiet = marked.length === 0 ? quiet + 1 : 0;
    await sleep(POLL_MS);
  }
};

/** Kills every process of a job. */
export const killMarked = (id: string): Promise<void> => killByEnvironment(isMarkOf(id));

/** Kills the processes of the scope, except those of the jobs whose ids begin with `mark`. */
export const killOrphans = (scope: string, mark?: string): Promise<void> =>
  killByEnvironment(
    (entry) =>
      entry.startsWith(`${MARKER}=${scope}.`) && (mark === undefined || !entry.startsWith(`${MARKER}=${mark}.`)),
  );

/**
 * A shell that waits for its command must not get SIGTERM. A sandbox ends with its first process, so the end of the
 * shell would interrupt the command's shutdown.
 */
const isShell = (pid: number): boolean => ["sh", "dash", "bash", "busybox"].includes(programOf(pid));

/** Returns the root process, its descendants and the processes of its session. */
const membersIn = (table: readonly ProcessInfo[], root: number): number[] => {
  const session = table.filter((one) => one.session === root).map((one) => one.pid);
  return [...new Set([...treeOf(root, table), ...session])];
};

const NO_NETWORK: DeployFailure = {
  reason: "provider_unavailable",
  message: "The network of the sandbox could not be created, or it failed. Try again.",
};

/** The first descriptor after the standard streams. */
export const FIRST_DESCRIPTOR = 3;

const serve = (descriptor: Descriptor, end: Duplex, network: Launch["network"]): void => {
  // The command may end before it has read all input.
  end.on("error", () => undefined);
  if ("input" in descriptor) end.end(descriptor.input);
  else if ("gate" in descriptor) end.on("data", () => end.write("\n"));
  else
    network?.then(
      ({ pid }) => end.end(`${namespacesOf(pid)}\n`),
      () => end.end(),
    );
};

const stdioFor = (descriptor: Descriptor): number | "pipe" | "ignore" =>
  "open" in descriptor ? descriptor.open : "network" in descriptor && !descriptor.network ? "ignore" : "pipe";

class Launched implements Running {
  readonly id: string;
  readonly startedAt = Date.now();
  readonly begun = Promise.resolve();
  readonly exited: Promise<Exit>;
  readonly #launch: Launch;
  readonly #child: ChildProcess;
  readonly accepts: (() => Promise<boolean>) | undefined;
  #network: Network | undefined;
  #lookInside: () => Promise<ListenState> = async () => ({ kind: "nothing" });
  #onListening: (() => void) | undefined;
  #networkFailed = false;
  #exceeded: "memory" | "processes" | undefined;
  #unwatch: (() => void) | undefined;
  #isFrozen = false;
  #hasEnded = false;
  /** The processes that `freeze` stopped by signal, parents first. */
  #stopped: readonly number[] = [];

  constructor(launch: Launch, onOutput: OnOutput) {
    this.#launch = launch;
    this.id = launch.job.id;
    const { descriptors = [] } = launch;
    const [file, ...args] = launch.argv as [string, ...string[]];
    this.#child = spawn(file, args, {
      cwd: launch.cwd,
      env: { ...launch.env, [MARKER]: launch.job.id },
      stdio: ["ignore", "pipe", "pipe", ...descriptors.map(stdioFor)],
      detached: true,
    });
    const { pid } = this.#child;
    // The process may have ended.
    if (launch.job.limits.yieldsCpu && pid !== undefined) tryOr(() => lowerPriority(pid), undefined);
    for (const [index, descriptor] of descriptors.entries())
      if (stdioFor(descriptor) === "pipe")
        serve(descriptor, this.#child.stdio[FIRST_DESCRIPTOR + index] as unknown as Duplex, launch.network);
    if (launch.network !== undefined) {
      this.#onListening = launch.onListening;
      this.accepts = () => this.#listens();
      void this.#followNetwork(launch.network);
    }
    this.exited = this.#follow(onOutput);
  }

  processes(): number[] {
    return this.#ofCommand(this.#members());
  }

  get address(): Address | undefined {
    return this.#network?.address;
  }

  async listenState(port: number, open: boolean): Promise<ListenState> {
    if (this.#launch.network !== undefined) return this.#lookInside();
    return listenStateOf(this.processes(), port, open);
  }

  async freeze(): Promise<void> {
    if (this.#hasEnded) return;
    const { freezer } = this.#launch.group ?? {};
    // A frozen command cannot exceed its limits.
    this.#unwatch?.();
    if (freezer !== undefined) freezer.freeze();
    // The programs of the sandbox continue, because they report the end of the command.
    else this.#stopped = stopAll(() => this.#ofCommand(this.#allMembers()));
    this.#isFrozen = true;
  }

  async thaw(): Promise<void> {
    if (!this.#isFrozen) return;
    this.#isFrozen = false;
    this.#launch.group?.freezer?.thaw();
    // Parents come first in the list and continue last, so that they do not see a stopped child.
    for (const pid of this.#stopped.toReversed()) signalProcess(pid, "SIGCONT");
    this.#stopped = [];
    this.#watch();
  }

  memory(): number {
    return memoryOfAll(this.#members());
  }

  use(): ResourceUse | undefined {
    return useOf(this.processes());
  }

  terminate(): void {
    const members = this.#members();
    const parents = new Set(members.map((pid) => processInfo(pid)?.parent));
    const waits = (pid: number) => parents.has(pid) && isShell(pid);
    for (const pid of this.#ofCommand(members)) if (!waits(pid)) signalProcess(pid, "SIGTERM");
  }

  kill(): void {
    for (const pid of this.#members()) signalProcess(pid, "SIGKILL");
    // The child may not have joined its group yet. After its exit, the kernel may have given its pid to another
    // process.
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) signalProcess(pid, "SIGKILL");
  }

  /**
   * Returns all processes, including those of the sandbox itself. A control group lists them without a process table.
   */
  #members(table?: readonly ProcessInfo[]): number[] {
    const { group } = this.#launch;
    const root = this.#child.pid;
    if (root === undefined) return [];
    return group?.processes() ?? membersIn(table ?? allProcesses(), root);
  }

  /** Also returns processes that have left the tree and the session of the command, but have its marker. */
  #allMembers(): number[] {
    if (this.#launch.group !== undefined) return this.#members();
    const table = allProcesses();
    const marked = [...markedPids(isMarkOf(this.id))].toReversed();
    return [...new Set([...this.#members(table), ...marked])];
  }

  /**
   * Filters out the sandbox's own processes, by name. A command with one of these names does not receive SIGTERM, but
   * SIGKILL and the limits still apply to it.
   */
  #ofCommand(members: readonly number[]): number[] {
    const { helpers = [] } = this.#launch;
    return members.filter((pid) => !helpers.includes(programOf(pid)));
  }

  async #listens(): Promise<boolean> {
    if ((await this.#lookInside()).kind !== "right") return false;
    this.#onListening?.();
    this.#onListening = undefined;
    return true;
  }

  /** Kills the command if its network fails, because the command could then neither send nor receive requests. */
  async #followNetwork(opening: Promise<Network>): Promise<void> {
    const network = await opening.catch(() => undefined);
    this.#networkFailed = network === undefined;
    if (network !== undefined) this.#lookInside = watchNetwork(network);
    this.#network = network;
    await network?.ended;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#networkFailed = true;
    this.kill();
  }

  /** Enforces the limits if the command has no control group. */
  #watch(): void {
    const { group, watchdog, job, memoryFolders = [] } = this.#launch;
    if (group !== undefined) return;
    const watched: Watched = {
      limits: job.limits,
      memoryFolders,
      processesIn: (table) => this.#members(table),
      onExceeded: (what) => {
        this.#exceeded ??= what;
        this.kill();
      },
    };
    this.#unwatch = watchdog.watch(watched);
  }

  async #follow(onOutput: OnOutput): Promise<Exit> {
    const { group, job } = this.#launch;
    const child = this.#child;
    this.#watch();
    const output = Promise.all([
      readLines(child.stdout as Readable, (lines) => onOutput("stdout", lines)),
      readLines(child.stderr as Readable, (lines) => onOutput("stderr", lines)),
    ]);
    const ended = await new Promise<Exit>((resolve) => {
      child.once("error", () => resolve({ code: 127, signal: null, outOfMemory: false }));
      child.once("exit", (code, signal) => resolve(exitOf(code, signal)));
    });
    this.#hasEnded = true;
    this.#isFrozen = false;
    this.#unwatch?.();
    const failure = this.#networkFailed ? { failure: NO_NETWORK } : {};
    // Without a control group, find the remaining processes by their marker. The processes of a sandbox end shortly
    // after the sandbox.
    if (group === undefined) await killMarked(job.id);
    else group.kill();
    await this.#launch.network?.then(
      (network) => network.close(),
      () => undefined,
    );
    await Promise.race([output, sleep(2000, undefined, { ref: false })]);
    const outOfMemory = this.#exceeded === "memory" || group?.outOfMemory() === true;
    await group?.remove();
    return { ...ended, outOfMemory, dataLimited: group === undefined, ...failure };
  }
}

export const launch = (what: Launch, onOutput: OnOutput): Running => new Launched(what, onOutput);
