/**
 * Starts a command and answers for all of its processes until none is left: what both runners share.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { exitOf } from "../instances/exit-code.ts";
import { readLines } from "../instances/lines.ts";
import {
  allProcesses,
  environmentOf,
  type ProcessInfo,
  processInfo,
  programOf,
  signalProcess,
  treeOf,
} from "../instances/proc.ts";
import { type Address, lookAt, type Sight, watchNetwork } from "../instances/ready.ts";
import type { ControlGroup } from "./cgroup.ts";
import { namespacesOf } from "./network/enter.ts";
import type { Network } from "./network/pasta.ts";
import { type Exit, type Job, MARKER, type OnLine, type Running } from "./runner.ts";
import type { Watchdog } from "./watchdog.ts";

/**
 * What a command inherits besides its standard streams: data to read, an open descriptor of this process, a gate at which
 * the command asks whether this process still lives, or the name of its network once that is made.
 */
export type Descriptor =
  | { readonly input: string | Uint8Array }
  | { readonly open: number }
  | { readonly gate: true }
  | { readonly network: boolean };

export interface Launch {
  readonly job: Job;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The host folder to start in. */
  readonly cwd: string;
  /** File descriptors 3, 4, 5, and so on of the command. */
  readonly descriptors?: readonly Descriptor[];
  /** The sandbox's own programs, whose processes are not the command's. */
  readonly helpers?: readonly string[];
  /** Folders of the command that are file systems in memory. */
  readonly memoryFolders?: readonly string[];
  readonly group: ControlGroup | undefined;
  /** The command's own network, which ends with it. */
  readonly network?: Promise<Network> | undefined;
  /** Called when the command is first seen to listen in its own network. */
  readonly onListening?: (() => void) | undefined;
  readonly watchdog: Watchdog;
}

/**
 * A process shows no environment while it becomes another program, which on a busy machine takes a while; and a look may
 * come between a parent's end and its child's beginning. So many looks in a row have to find none.
 */
const QUIET_LOOKS = 6;
const LOOK_MS = 20;
const MOST_LOOKS = 100;

/** Ends every process with such an entry in its environment; a bounded fight against one that keeps forking. */
const killThoseWith = async (isMark: (entry: string) => boolean): Promise<void> => {
  let quiet = 0;
  for (let round = 0; round < MOST_LOOKS && quiet < QUIET_LOOKS; round++) {
    const marked = allProcesses().filter(({ pid }) => environmentOf(pid).some(isMark));
    for (const { pid } of marked) signalProcess(pid, "SIGKILL");
    if (round === 0 && marked.length === 0) return;
    quiet = marked.length === 0 ? quiet + 1 : 0;
    await sleep(LOOK_MS);
  }
};

/** Ends every process of a job. */
export const killMarked = (id: string): Promise<void> => killThoseWith((entry) => entry === `${MARKER}=${id}`);

/**
 * Ends the processes that an earlier server of the scope left. Called before this one starts any: whatever carries
 * the scope's marker then is an orphan, also the child that an orphan has just made.
 */
export const killOrphans = (scope: string): Promise<void> =>
  killThoseWith((entry) => entry.startsWith(`${MARKER}=${scope}.`));

/**
 * A start script's shell waits for its command; ended with it, it would take the command's time to finish away
 * (in a sandbox the first process's end is everybody's).
 */
const isShell = (pid: number): boolean => ["sh", "dash", "bash", "busybox"].includes(programOf(pid));

/** What came from the root, and what is in its session. */
const membersIn = (table: readonly ProcessInfo[], root: number): number[] => {
  const session = table.filter((one) => one.session === root).map((one) => one.pid);
  return [...new Set([...treeOf(root, table), ...session])];
};

const NO_NETWORK: DeployFailure = {
  reason: "provider_unavailable",
  message: "The platform's machine could not make a network for a sandbox; try again.",
};

/** The first that is not a standard stream. */
export const FIRST_DESCRIPTOR = 3;

const serve = (descriptor: Descriptor, end: Duplex, network: Launch["network"]): void => {
  // The command may end before it has read all of its input.
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
  #lookInside: () => Promise<Sight> = async () => ({ kind: "nothing" });
  #onListening: (() => void) | undefined;
  #networkFailed = false;
  #exceeded: "memory" | "processes" | undefined;

  constructor(launch: Launch, onLine: OnLine) {
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
    for (const [index, descriptor] of descriptors.entries())
      if (stdioFor(descriptor) === "pipe")
        serve(descriptor, this.#child.stdio[FIRST_DESCRIPTOR + index] as unknown as Duplex, launch.network);
    if (launch.network !== undefined) {
      this.#onListening = launch.onListening;
      this.accepts = () => this.#listens();
      void this.#followNetwork(launch.network);
    }
    this.exited = this.#follow(onLine);
  }

  processes(): number[] {
    return this.#ofCommand(this.#members());
  }

  get address(): Address | undefined {
    return this.#network?.address;
  }

  async look(port: number, open: boolean): Promise<Sight> {
    if (this.#launch.network !== undefined) return this.#lookInside();
    return lookAt(this.processes(), port, open);
  }

  terminate(): void {
    const members = this.#members();
    const parents = new Set(members.map((pid) => processInfo(pid)?.parent));
    const waits = (pid: number) => parents.has(pid) && isShell(pid);
    for (const pid of this.#ofCommand(members)) if (!waits(pid)) signalProcess(pid, "SIGTERM");
  }

  kill(): void {
    for (const pid of this.#members()) signalProcess(pid, "SIGKILL");
    // Not yet in its group. Once it has ended, its number may be another's.
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) signalProcess(pid, "SIGKILL");
  }

  /** Everything that was started, the sandbox's own processes among it. A control group knows it without a process table. */
  #members(table?: readonly ProcessInfo[]): number[] {
    const { group } = this.#launch;
    const root = this.#child.pid;
    if (root === undefined) return [];
    return group?.processes() ?? membersIn(table ?? allProcesses(), root);
  }

  /**
   * The members without the sandbox's own processes, told by their name. A command may take that name and so spare
   * itself SIGTERM, but neither its limits nor its end.
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

  /** Ends the command if its network fails, because the command could neither call nor be called. */
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

  async #follow(onLine: OnLine): Promise<Exit> {
    const { group, watchdog, job } = this.#launch;
    const child = this.#child;
    const unwatch =
      group !== undefined
        ? undefined
        : watchdog.watch({
            limits: job.limits,
            memoryFolders: this.#launch.memoryFolders ?? [],
            processesIn: (table) => this.#members(table),
            onExceeded: (what) => {
              this.#exceeded ??= what;
              this.kill();
            },
          });
    const output = Promise.all([
      readLines(child.stdout as Readable, (line) => onLine("stdout", line)),
      readLines(child.stderr as Readable, (line) => onLine("stderr", line)),
    ]);
    const ended = await new Promise<Exit>((resolve) => {
      child.once("error", () => resolve({ code: 127, signal: null, outOfMemory: false }));
      child.once("exit", (code, signal) => resolve(exitOf(code, signal)));
    });
    unwatch?.();
    const failure = this.#networkFailed ? { failure: NO_NETWORK } : {};
    await this.#leaveNothing();
    await this.#launch.network?.then(
      (network) => network.close(),
      () => undefined,
    );
    await Promise.race([output, sleep(2000, undefined, { ref: false })]);
    const outOfMemory = this.#exceeded === "memory" || group?.outOfMemory() === true;
    await group?.remove();
    return { ...ended, outOfMemory, dataLimited: group === undefined, ...failure };
  }

  async #leaveNothing(): Promise<void> {
    const { group, job } = this.#launch;
    if (group !== undefined) return group.kill();
    // Without a group they have to be looked for. A sandbox takes its processes with it, but a moment after its end.
    await killMarked(job.id);
  }
}

export const launch = (what: Launch, onLine: OnLine): Running => new Launched(what, onLine);
