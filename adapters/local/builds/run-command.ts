/** Runs the commands of a build in the sandbox and prints their output line by line. */
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import type { EmitProgress } from "../../shared/runtime/channel.ts";
import { describeDiskFault } from "../../shared/runtime/disk-fault.ts";
import type { KeyedMutex } from "../../shared/runtime/keyed-mutex.ts";
import { ranOutOfMemory } from "../instances/describe-exit.ts";
import { linesIn } from "../instances/read-lines.ts";
import type { Bind, Exit, Limits, Runner } from "../sandbox/runner.ts";
import { chownFolder } from "../tenant-files/chown-tree.ts";
import type { Toolchain } from "./toolchain.ts";

/** The path of the source in the sandbox. Without a sandbox, commands see the paths of this machine. */
export const APP = "/app";
const CACHE = "/cache";

/** A failed build. Thrown only within the builder, which converts the error to a `failed` event. */
export class BuildError extends Error {
  readonly failure: DeployFailure;
  constructor(failure: DeployFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export interface BuildContext {
  readonly runner: Runner;
  readonly toolchain: Toolchain;
  readonly limits: Limits;
  /** The uid of the commands; undefined for this process's uid. */
  readonly user: number | undefined;
  readonly network: Readonly<Record<string, string>>;
  /** The folder of this machine with the source. */
  readonly app: string;
  /** The folder of this machine that the account's builds share. */
  readonly cache: string;
  /** Prints a message of the builder. */
  readonly say: (message: string) => void;
  /** Prints a line of a command's output. If it returns a promise, further output waits for the promise. */
  readonly print: EmitProgress<string>;
  readonly signal: AbortSignal;
  readonly newId: () => string;
  /** Guards the files that builds of one account share. */
  readonly mutex: KeyedMutex;
}

/** Returns the paths of the source and the cache as commands see them. */
export const insidePaths = (context: Pick<BuildContext, "runner" | "app" | "cache">) =>
  context.runner.mapsPaths ? { app: APP, cache: CACHE } : { app: context.app, cache: context.cache };

/** Returns binds that mount programs outside /usr at their own paths. Every sandbox has /usr. */
export const programBinds = (paths: readonly string[]): Bind[] =>
  [...new Set(paths)]
    .filter((path) => path !== "/usr" && !path.startsWith("/usr/"))
    .map((path) => ({ host: path, inside: path, writable: false }));

export interface Command {
  /** Names the command in error messages. */
  readonly what: string;
  readonly argv: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly binds?: readonly Bind[];
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "[::1]" || /^127\./.test(host);

/** Returns the ports of proxies and registries on this machine's loopback address. */
const loopbackPortsIn = (network: Readonly<Record<string, string>>): number[] =>
  Object.values(network).flatMap((value) => {
    const url = URL.parse(value.includes("://") ? value : `http://${value}`);
    if (url === null || !isLoopback(url.hostname)) return [];
    return [Number(url.port || (url.protocol === "https:" ? 443 : 80))];
  });

const TAIL = 20;

/** The free space below which a full disk counts as the cause of a failed command. */
const MIN_FREE_BYTES = 256 * 1024;

const isFull = async (path: string): Promise<boolean> => {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize < MIN_FREE_BYTES;
};

const formatCommandExit = (exit: Exit, tail: readonly string[], { memory }: Limits): string =>
  ranOutOfMemory(exit, tail)
    ? `ran out of memory (limit: ${formatMemory(memory)})`
    : exit.signal === null
      ? `ended with exit code ${exit.code}`
      : `was terminated by ${exit.signal}`;

/**
 * Runs a command until it exits. Rejects with `BuildError` if the command fails, and with the signal's reason if the
 * signal aborts.
 */
export const runCommand = async (context: BuildContext, command: Command): Promise<void> => {
  const inside = insidePaths(context);
  const { toolchain } = context;
  const path = [toolchain.shims, join(toolchain.node, ".."), "/usr/local/bin", "/usr/bin", "/bin"];
  const tail: string[] = [];
  context.signal.throwIfAborted();
  // Mount writable folders last, so the sandbox creates no mount points in them. A symbolic link there could redirect a
  // mount point.
  const binds = [
    ...programBinds([toolchain.node, toolchain.shims]),
    ...(command.binds ?? []),
    { host: context.app, inside: inside.app, writable: true },
    { host: context.cache, inside: inside.cache, writable: true },
  ];
  for (const { host, writable } of binds) if (writable) await chownFolder(host, context.user ?? 0);
  const running = context.runner.start(
    {
      id: context.newId(),
      ...(context.user === undefined ? {} : { user: context.user }),
      argv: command.argv,
      cwd: inside.app,
      env: {
        ...context.network,
        PATH: path.join(":"),
        HOME: inside.cache,
        CI: "true",
        LANG: "C.UTF-8",
        ...command.env,
      },
      binds,
      limits: context.limits,
      hostPorts: loopbackPortsIn(context.network),
    },
    async (_stream, lines) => {
      for (const line of linesIn(lines)) {
        tail.push(line);
        if (tail.length > TAIL) tail.shift();
        await context.print(line);
      }
    },
  );
  const stop = () => running.kill();
  context.signal.addEventListener("abort", stop);
  const exit = await running.exited;
  context.signal.removeEventListener("abort", stop);
  context.signal.throwIfAborted();
  if (exit.code === 0 && !exit.outOfMemory) return;
  if (exit.failure !== undefined) throw new BuildError(exit.failure);
  const ended = `${command.what} ${formatCommandExit(exit, tail, context.limits)}`;
  throw new BuildError({
    ...((await isFull(context.app))
      ? { reason: "provider_unavailable", message: describeDiskFault("full", ended, "Deploy again") }
      : { reason: "build_failed", message: `${ended}.` }),
    ...(exit.code === null ? {} : { exitCode: exit.code }),
    logTail: tail,
  });
};
