/**
 * Finds the running instances of a service on this machine, and the commands that open a shell in them. The shell has
 * the instance's files, processes and environment. Finds only instances whose processes the current user can access.
 */
import { openSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { tryOr } from "../../shared/runtime/try-or.ts";
import { RUN_FOLDER, readInstanceNotes } from "../instances/instance-notes.ts";
import { allProcesses, environmentOf, type ProcessInfo } from "../instances/proc.ts";
import { argumentsFile } from "../sandbox/bubblewrap.ts";
import { groupFilesOf } from "../sandbox/cgroup.ts";
import { groupsOf, isFrozen } from "../sandbox/freezer.ts";
import { type Descriptor, FIRST_DESCRIPTOR } from "../sandbox/launch.ts";
import { MARKER } from "../sandbox/runner.ts";
import { joinGroup } from "../sandbox/shell-wrappers.ts";
import { callFilter } from "../sandbox/syscall-filter.ts";
import { isDeployed } from "../state/services.ts";
import { containerName } from "./create-options.ts";
import { type ContainerEngine, findEngine } from "./engine.ts";

export interface ExecTarget {
  readonly kind: "container" | "bubblewrap" | "process";
  readonly file: string;
  readonly args: readonly string[];
  /** The complete environment of the command; undefined for the current process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The file descriptors that the command gets after the standard streams. */
  readonly descriptors?: readonly Extract<Descriptor, { readonly input: unknown } | { readonly open: number }>[];
}

/** An absolute path, because the service may set any PATH. */
const SHELL = ["/bin/sh", "-c", "command -v bash >/dev/null && exec bash || exec /bin/sh"];

/** Marks an instance that is frozen. A shell in it would be frozen, too. */
const FROZEN = "frozen";

/**
 * Uses the shell, environment and folder of the container: https://docs.docker.com/reference/cli/docker/container/exec/
 */
const containerTargets = async (
  job: string,
  engine: ContainerEngine,
  flags: readonly string[],
): Promise<ExecTarget[] | typeof FROZEN> => {
  const docker = await engine.docker();
  const container = docker.getContainer(containerName(job));
  const state = await container.inspect().then(
    ({ State }) => State,
    () => undefined,
  );
  if (state?.Paused || (engine.sharesKernel && isFrozen(groupsOf(state?.Pid ?? 0)))) return FROZEN;
  if (!state?.Running) return [];
  const podman = engine.name === "Podman";
  return [
    {
      kind: "container",
      file: podman ? "podman" : "docker",
      args: [...(podman ? ["--remote"] : []), "exec", ...flags, container.id, ...SHELL],
      env: engine.environment,
    },
  ];
};

const linkOf = (path: string): string | undefined => tryOr(() => readlinkSync(path), undefined);

const variablesOf = (pid: number): Record<string, string> =>
  Object.fromEntries(
    environmentOf(pid)
      .filter((entry) => entry.includes("="))
      .map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
  );

/**
 * Returns the first processes of the service in an instance, without their descendants. Excludes the processes that run
 * the sandbox: they have the variable `MARKER` too, but no K_SERVICE.
 */
const rootProcesses = (job: string, table: readonly ProcessInfo[]): number[] => {
  const own = table.filter(({ pid }) => {
    const { K_SERVICE, [MARKER]: mark } = variablesOf(pid);
    return mark === job && K_SERVICE !== undefined;
  });
  return own.filter(({ parent }) => !own.some(({ pid }) => pid === parent)).map(({ pid }) => pid);
};

/** Returns the uid or gid of the process in its own user namespace. */
const idInside = (pid: number, kind: "uid" | "gid"): string =>
  /^\s*(\d+)/.exec(readFileSync(`/proc/${pid}/${kind}_map`, "utf8"))?.[1] ?? "";

const USERS = FIRST_DESCRIPTOR;
const FILTER = USERS + 1;
const ARGUMENTS = FILTER + 1;

/**
 * Root joins the control groups and namespaces of the process with a minimal environment, because the service's
 * variables could make root load the service's libraries. bubblewrap then drops every right that the process lacks.
 * https://man7.org/linux/man-pages/man1/nsenter.1.html
 */
const sandboxTarget = (pid: number, env: Readonly<Record<string, string>>): ExecTarget => {
  const joinFiles = groupFilesOf(pid);
  const namespaces = ["--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup", "--wd"];
  const ids = ["--uid", idInside(pid, "uid"), "--gid", idInside(pid, "gid")];
  const rights = ["--userns", String(USERS), ...ids, "--cap-drop", "ALL", "--seccomp", String(FILTER)];
  const [shell = "", flag = "", script = ""] = SHELL;
  const [file = "", ...args] = joinGroup(joinFiles.length === 0 ? undefined : { joinFiles }, [
    ...["setpriv", "--clear-groups", "nsenter", "--target", String(pid), ...namespaces],
    ...["bwrap", "--dev-bind", "/", "/", ...rights, "--args", String(ARGUMENTS), "--"],
    ...[shell, flag, `exec ${USERS}<&-; ${script}`],
  ]);
  const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  const descriptors = [
    { open: openSync(`/proc/${pid}/ns/user`, "r") },
    { input: callFilter(process.arch, joinFiles.length > 0) },
    { input: argumentsFile(["--clearenv", ...variables]) },
  ];
  return { kind: "bubblewrap", file, args, env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }, descriptors };
};

/** Thrown if no shell can be opened, for example in a frozen instance. The command line shows the message. */
export class ExecTargetRefused extends Error {}

/** Enters the sandbox of a process. If the process has no sandbox, starts a shell in the process's folder. */
const processTarget = (pid: number, terminal: string | undefined): ExecTarget => {
  const { [MARKER]: _, ...own } = variablesOf(pid);
  const env = { ...own, ...(terminal === undefined ? {} : { TERM: terminal }) };
  const isSandboxed = linkOf(`/proc/${pid}/ns/mnt`) !== linkOf("/proc/self/ns/mnt");
  if (!isSandboxed) {
    const cwd = linkOf(`/proc/${pid}/cwd`);
    const [file = "/bin/sh", ...args] = SHELL;
    return { kind: "process", file, args, env, ...(cwd === undefined ? {} : { cwd }) };
  }
  // Without root, bubblewrap creates the sandbox's namespaces in one user namespace, and runs the command in a child of
  // that user namespace. Joining both requires root.
  if (process.getuid?.() !== 0)
    throw new ExecTargetRefused(
      "Only root can enter the sandboxes of a server that does not run as root. Run the command with sudo, and pass --data-dir.",
    );
  return sandboxTarget(pid, env);
};

export interface ExecTargetOptions {
  readonly dataDir: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Whether the standard streams are a terminal. */
  readonly isTerminal: boolean;
}

export interface ExecTargets {
  /** The targets in the running instances of the service, except in frozen ones. */
  readonly found: readonly ExecTarget[];
  /** All running services of the platform. */
  readonly services: readonly string[];
  /** Whether the service is deployed; undefined if the state cannot be read. */
  readonly isDeployed: boolean | undefined;
}

/**
 * Rejects with `ExecTargetRefused` if no server has used the data folder, if this user cannot enter an instance, or if
 * all instances are frozen.
 */
export const findExecTargets = async (
  service: string,
  { dataDir, environment, isTerminal }: ExecTargetOptions,
): Promise<ExecTargets> => {
  const notes = readInstanceNotes(join(dataDir, RUN_FOLDER));
  if (notes === undefined)
    throw new ExecTargetRefused(`No server uses ${dataDir}. Pass the server's data folder with --data-dir.`);
  const services = [...new Set(notes.map((note) => note.service))].sort();
  const jobs = notes.filter((note) => note.service === service).map(({ job }) => job);
  if (jobs.length === 0) return { found: [], services, isDeployed: isDeployed(dataDir, service) };
  const engine = await findEngine(environment);
  const flags = isTerminal ? ["--interactive", "--tty"] : ["--interactive"];
  const table = allProcesses();
  const targets = await Promise.all(
    jobs.map(async (job): Promise<readonly ExecTarget[] | typeof FROZEN> => {
      const contained = typeof engine === "string" ? [] : await containerTargets(job, engine, flags);
      if (contained.length > 0) return contained;
      const pids = rootProcesses(job, table);
      return pids.some((pid) => isFrozen(groupsOf(pid)))
        ? FROZEN
        : pids.map((pid) => processTarget(pid, environment["TERM"]));
    }),
  );
  const found = targets.flatMap((one) => (one === FROZEN ? [] : one));
  if (found.length === 0 && targets.includes(FROZEN))
    throw new ExecTargetRefused(`'${service}' is frozen. Call its URL first.`);
  return { found, services, isDeployed: true };
};
