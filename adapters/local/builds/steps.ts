/** Runs the commands of a build in the sandbox, their output passed on line by line. */
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Say } from "../../shared/runtime/channel.ts";
import { describeDiskFault } from "../../shared/runtime/disk-fault.ts";
import type { KeyedMutex } from "../../shared/runtime/keyed-mutex.ts";
import { ranOutOfMemory } from "../instances/describe-exit.ts";
import type { Bind, Exit, Limits, Runner } from "../sandbox/runner.ts";
import { giveFolder } from "../tenant-files/give-tree.ts";
import type { Toolchain } from "./toolchain.ts";

/** Where the built source is, for commands that run in the sandbox; elsewhere commands see host paths. */
export const APP = "/app";
const CACHE = "/cache";

/** A build that cannot go on; thrown inside the builder only, and told as its `failed` event. */
export class BuildFailed extends Error {
  readonly failure: DeployFailure;
  constructor(failure: DeployFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export interface Workshop {
  readonly runner: Runner;
  readonly toolchain: Toolchain;
  readonly limits: Limits;
  /** The uid of the commands; undefined: that of this process. */
  readonly user: number | undefined;
  readonly network: Readonly<Record<string, string>>;
  /** The host folder with the source. */
  readonly app: string;
  /** The host folder that is kept between builds of the account. */
  readonly cache: string;
  /** The builder's own words. */
  readonly say: (message: string) => void;
  /** A command's output. The promise, if there is one, holds further output back. */
  readonly print: Say<string>;
  readonly signal: AbortSignal;
  readonly newId: () => string;
  /** For what builds of one account share on disk. */
  readonly turns: KeyedMutex;
}

/** A host path as commands see it, for folders that are bound under another name. */
export const insidePaths = (shop: Pick<Workshop, "runner" | "app" | "cache">) =>
  shop.runner.mapsPaths ? { app: APP, cache: CACHE } : { app: shop.app, cache: shop.cache };

/** Programs that lie outside what every sandbox has, at their own paths. */
export const programBinds = (paths: readonly string[]): Bind[] =>
  [...new Set(paths)]
    .filter((path) => path !== "/usr" && !path.startsWith("/usr/"))
    .map((path) => ({ host: path, inside: path, writable: false }));

export interface Command {
  /** What is being done, for the words of a failure. */
  readonly what: string;
  readonly argv: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** Folders put in front of the search path. */
  readonly path?: readonly string[];
  readonly binds?: readonly Bind[];
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "[::1]" || /^127\./.test(host);

/** The ports of proxies and registries on this machine's loopback. */
const loopbackPortsIn = (network: Readonly<Record<string, string>>): number[] =>
  Object.values(network).flatMap((value) => {
    const url = URL.parse(value.includes("://") ? value : `http://${value}`);
    if (url === null || !isLoopback(url.hostname)) return [];
    return [Number(url.port || (url.protocol === "https:" ? 443 : 80))];
  });

const TAIL = 20;

/** With less room than this, a command that failed may have failed for lack of it. */
const ROOM = 256 * 1024;

const isFull = async (path: string): Promise<boolean> => {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize < ROOM;
};

const howItEnded = (exit: Exit, tail: readonly string[]): string =>
  ranOutOfMemory(exit, tail)
    ? "used too much memory"
    : exit.signal === null
      ? `ended with exit code ${exit.code}`
      : `was ended by ${exit.signal}`;

/** Runs a command to its end; throws `BuildFailed` where it fails or the build was ended. */
export const runCommand = async (shop: Workshop, command: Command): Promise<void> => {
  const inside = insidePaths(shop);
  const { toolchain } = shop;
  const path = [
    ...(command.path ?? []),
    toolchain.shims,
    join(toolchain.node, ".."),
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
  ];
  const tail: string[] = [];
  shop.signal.throwIfAborted();
  // What commands can write comes last: no mount point is made in it, where a link could lead elsewhere.
  const binds = [
    ...programBinds([toolchain.node, toolchain.shims]),
    ...(command.binds ?? []),
    { host: shop.app, inside: inside.app, writable: true },
    { host: shop.cache, inside: inside.cache, writable: true },
  ];
  for (const { host, writable } of binds) if (writable) await giveFolder(host, shop.user ?? 0);
  const running = shop.runner.start(
    {
      id: shop.newId(),
      ...(shop.user === undefined ? {} : { user: shop.user }),
      argv: command.argv,
      cwd: inside.app,
      env: { ...shop.network, PATH: path.join(":"), HOME: inside.cache, CI: "true", LANG: "C.UTF-8", ...command.env },
      binds,
      limits: shop.limits,
      hostPorts: loopbackPortsIn(shop.network),
    },
    (_stream, line) => {
      tail.push(line);
      if (tail.length > TAIL) tail.shift();
      return shop.print(line);
    },
  );
  const stop = () => running.kill();
  shop.signal.addEventListener("abort", stop);
  const exit = await running.exited;
  shop.signal.removeEventListener("abort", stop);
  shop.signal.throwIfAborted();
  if (exit.code === 0 && !exit.outOfMemory) return;
  if (exit.failure !== undefined) throw new BuildFailed(exit.failure);
  const ended = `${command.what} ${howItEnded(exit, tail)}`;
  throw new BuildFailed({
    ...((await isFull(shop.app))
      ? { reason: "provider_unavailable", message: describeDiskFault("full", ended, "Deploy again") }
      : { reason: "build_failed", message: `${ended}.` }),
    ...(exit.code === null ? {} : { exitCode: exit.code }),
    logTail: tail,
  });
};
