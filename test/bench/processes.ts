/** The processes that benchmarks measure: Portside's server, its services, peers, and load generators. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { allProcesses, environmentOf, parseCpuMillis, treeOf } from "../../adapters/local/instances/proc.ts";
import { portside } from "../support/cli/terminal.ts";
import { serverOf } from "../support/http/serve-child.ts";

const run = promisify(execFile);

/** The full path of a program. Services need it, because their search path is shorter than this process's. */
export const programPath = (program: string): string | undefined => {
  const found = spawnSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" });
  return found.status === 0 ? found.stdout.trim() : undefined;
};

export const installed = (program: string): boolean => programPath(program) !== undefined;

/** Pins a process and all its threads to one core. */
export const pin = (pid: number, core: number): void => void spawnSync("taskset", ["-acp", String(core), String(pid)]);

export const canPin = (): boolean => installed("taskset");

export const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
};

const children = new Set<ChildProcess>();
// One listener for all children, because Node warns about more than ten.
process.once("exit", () => {
  for (const child of children) child.kill();
});

/** Kills the child when this process exits, because a benchmark that fails during its setup does not stop it. */
export const killOnExit = (child: ChildProcess): ChildProcess => {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
};

/** The first line that a process prints. */
const firstLine = async (child: ChildProcess): Promise<string> => {
  if (child.stdout === null) throw new Error("the process has no output");
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error("the process ended without output");
};

export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  /** The engine's process, which serves requests to services. */
  readonly pid: number;
  /** The server's process, which serves the API. */
  readonly apiPid: number;
  readonly dataDir: string;
  /** Runs a command of the command line against this server. */
  cli(...args: string[]): Promise<string>;
}

/** The built server, as users run it; the sources if no build exists. */
const serverProgram = (): string =>
  existsSync("dist/hosts/cli/main.js") ? "dist/hosts/cli/main.js" : "hosts/cli/main.ts";

export const startServer = async (...flags: string[]): Promise<Server> => {
  const dataDir = mkdtempSync(join(tmpdir(), "portside-bench-"));
  const args = [
    serverProgram(),
    "serve",
    "--json",
    "--data-dir",
    dataDir,
    "--port",
    "0",
    "--ingress-port",
    "0",
    "--log-level",
    "error",
    ...flags,
  ];
  const child = killOnExit(spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] }));
  const { url, api_key: apiKey } = JSON.parse(await firstLine(child)) as { url: string; api_key: string };
  const env = { PORTSIDE_URL: url, PORTSIDE_API_KEY: apiKey };
  return {
    url,
    apiKey,
    pid: child.pid as number,
    apiPid: serverOf(child.pid as number) ?? (child.pid as number),
    dataDir,
    cli: async (...words) => {
      const { code, stdout, stderr } = await portside(words, { env });
      if (code !== 0) throw new Error(stdout + stderr);
      return stdout;
    },
    [Symbol.asyncDispose]: async () => {
      await stop(child);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
};

/** A peer that prints its port once it listens. */
export const startPeer = async (file: string, ...args: string[]) => {
  const child = killOnExit(spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "inherit"] }));
  const port = Number(await firstLine(child));
  return { port, pid: child.pid as number, [Symbol.asyncDispose]: () => stop(child) };
};

/** The instances of a server's services: its child processes that were given a port. */
export const instancesOf = (server: Server): { pid: number; port: number }[] =>
  treeOf(server.pid, allProcesses()).flatMap((pid) => {
    const port = environmentOf(pid)
      .find((one) => one.startsWith("PORT="))
      ?.slice(5);
    return pid === server.pid || port === undefined ? [] : [{ pid, port: Number(port) }];
  });

/** Requests a second to a port of 127.0.0.1, measured by wrk on a separate core. The host of the URL may be any name. */
export const wrk = async (
  url: string,
  options: {
    readonly seconds: number;
    readonly connections: number;
    readonly core: number;
    readonly headers?: readonly string[];
  },
): Promise<number> => {
  const { seconds, connections, core, headers = [] } = options;
  const load = [
    ...["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "-s", "test/bench/peers/wrk-loopback.lua"],
    ...[...headers.flatMap((header) => ["-H", header]), url],
  ];
  const { stdout } = await run("taskset", ["-c", String(core), ...load]);
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1];
  if (failed !== undefined) throw new Error(`${failed} requests to ${url} failed`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]);
};

/** The CPU time that processes have used, in microseconds. */
export const cpuMicrosOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + parseCpuMillis(readFileSync(`/proc/${pid}/stat`, "utf8")) * 1000, 0);

/** The memory of a process in megabytes. */
export const residentMegabytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

/** The memory of Portside's two processes in megabytes. Counts shared pages only once (proportional set size). */
export const megabytesOf = ({ pid, apiPid }: Server): number =>
  [...new Set([pid, apiPid])].reduce(
    (sum, one) => sum + Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, "utf8"))?.[1]) / 1024,
    0,
  );

/** Resolves when the process accepts connections on the port of the loopback interface. Throws if it ends first. */
export const listening = async (port: number, child: ChildProcess): Promise<void> => {
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${child.spawnfile} exited during its start`);
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: "127.0.0.1", port });
      const answer = (accepted: boolean) => {
        // An open connection would keep a server from exiting.
        socket.destroy();
        resolve(accepted);
      };
      socket.once("connect", () => answer(true));
      socket.once("error", () => answer(false));
    });
    if (open) return;
    await sleep(1);
  }
};
