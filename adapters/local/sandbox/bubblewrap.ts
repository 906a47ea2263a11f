/**
 * Runs each command in a bubblewrap sandbox: separate mount, pid, ipc and uts namespaces, a read-only root that
 * contains little more than this machine's /usr, no capabilities, and a separate network if pasta works.
 * https://github.com/containers/bubblewrap
 */
import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { tryOr } from "../../shared/runtime/try-or.ts";
import { ownerFolder } from "../builds/image-store.ts";
import { stageFor } from "./as-user.ts";
import type { ControlGroups } from "./cgroup.ts";
import { hostFolders, readableEtc, writeMounted } from "./host-files.ts";
import { FIRST_DESCRIPTOR, launch } from "./launch.ts";
import { isRoot } from "./network/enter-network.ts";
import { readHostNetwork } from "./network/host-network.ts";
import type { Networks } from "./network/networks.ts";
import { type Bind, type Job, MARKER, type Runner } from "./runner.ts";
import { askServer, joinGroup, joinNetwork, limitResources } from "./shell-wrappers.ts";
import { callFilter, filtersCalls } from "./syscall-filter.ts";
import type { Watchdog } from "./watchdog.ts";

/** In-memory file systems. Each may be as large as the memory limit, and its files count towards the limit. */
const MEMORY_FOLDERS = ["/tmp", "/dev/shm"];

/**
 * The uid and gid of services inside their sandboxes, if the server is root or the sandboxes have separate networks.
 * Otherwise, services keep the server's uid and gid.
 */
const NOBODY = "65534";

/** On most systems, /bin, /lib and similar paths are symbolic links into /usr. On others they are folders. */
const rootFolders = (): string[] =>
  hostFolders.flatMap((path) =>
    tryOr(
      () => (lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path]),
      [],
    ),
  );

/** Writes /etc/passwd and /etc/group for the sandboxes. They contain only root, nobody and nogroup. */
const accountFiles = (folder: string): Bind[] => {
  mkdirSync(folder, { recursive: true });
  const files = {
    passwd: `root:x:0:0:root:/:/bin/sh\nnobody:x:${NOBODY}:${NOBODY}:nobody:/tmp:/bin/sh\n`,
    group: `root:x:0:\nnogroup:x:${NOBODY}:\n`,
  };
  return Object.entries(files).map(([name, text]) => writeMounted(join(folder, name), `/etc/${name}`, text));
};

/** Optional features of the installed bubblewrap. */
interface Features {
  /** Mounts folders by descriptor (since 0.10; some distributions add it to earlier versions). */
  readonly bindsDescriptors: boolean;
  /** Disables user namespaces inside the sandbox (since 0.8). */
  readonly closesUserNamespaces: boolean;
}

const findFeatures = (): Features => {
  const help = spawnSync("bwrap", ["--help"], { timeout: 10_000, encoding: "utf8" });
  const offers = (option: string) => `${help.stdout}${help.stderr}`.includes(option);
  return { bindsDescriptors: offers("--bind-fd"), closesUserNamespaces: offers("--disable-userns") };
};

const namespaces = ({ closesUserNamespaces }: Features, ownNetwork: boolean): string[] => [
  "--unshare-user",
  ...(closesUserNamespaces ? ["--disable-userns"] : []),
  ...(isRoot || ownNetwork ? ["--uid", NOBODY, "--gid", NOBODY] : []),
  ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  ...["--die-with-parent", "--new-session", "--hostname", "portside", "--cap-drop", "ALL"],
];

/** Descriptors for the programs that set up the sandbox. All are closed before the job's command starts. */
const ARGUMENTS = FIRST_DESCRIPTOR;
const FILTER = ARGUMENTS + 1;
const GATE = FILTER + 1;
const NETWORK = GATE + 1;
const FIRST_FOLDER = NETWORK + 1;

/** Formats arguments for bubblewrap's option `--args`, which reads them from a descriptor. */
export const argumentsFile = (args: readonly string[]): string => args.map((argument) => `${argument}\0`).join("");

/** Returns all arguments before the command. bubblewrap reads them from a descriptor, so `ps` does not show them. */
export const sandboxArguments = (
  job: Pick<Job, "binds" | "folders" | "cwd" | "env" | "limits" | "id">,
  base: readonly string[],
): string[] => [
  ...base,
  ...MEMORY_FOLDERS.flatMap((path) => ["--size", String(job.limits.memory), "--tmpfs", path]),
  ...job.binds.flatMap(({ host, inside, writable }) => [writable ? "--bind" : "--ro-bind", host, inside]),
  ...(job.folders ?? []).flatMap(({ inside, writable }, index) => [
    writable ? "--bind-fd" : "--ro-bind-fd",
    String(FIRST_FOLDER + index),
    inside,
  ]),
  ...["/dev", "/"].flatMap((path) => ["--remount-ro", path]),
  "--clearenv",
  ...Object.entries({ ...job.env, [MARKER]: job.id }).flatMap(([name, value]) => ["--setenv", name, value]),
  ...["--chdir", job.cwd],
];

/**
 * Kernel settings that uid 0 may write without any capability, so a server that runs as root must mount them read-only.
 * https://man7.org/linux/man-pages/man5/proc.5.html
 */
const kernelSettings = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"].map((name) => `/proc/${name}`);

const baseArguments = (features: Features, ownNetwork: boolean): string[] => [
  ...namespaces(features, ownNetwork),
  ...["--ro-bind", "/usr", "/usr"],
  ...rootFolders(),
  ...readableEtc.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]),
  ...["--proc", "/proc"],
  ...kernelSettings.flatMap((path) => ["--ro-bind-try", path, path]),
  ...["--dev", "/dev", "--dir", "/run", "--dir", "/var"],
];

/** Minimal, because the command can read the environment of the programs that set up the sandbox. */
const helperEnvironment = { PATH: "/usr/bin:/bin" };

/** The settings shared by all sandboxes of a server. */
interface SandboxBase {
  readonly base: readonly string[];
  readonly files: readonly Bind[];
  readonly filter: Uint8Array;
}

/** Runs a trivial command in a sandbox. Returns the problem, or undefined if the command succeeds. */
const trySandbox = (
  { base, files, filter }: SandboxBase,
  before: readonly string[] = [],
  binds: readonly Bind[] = files,
): string | undefined => {
  const limits = { memory: 1 << 20, cpu: 1, processes: 64 };
  const sandbox = sandboxArguments({ id: "trial", binds, cwd: "/", env: {}, limits }, base);
  const [program = "bwrap", ...rest] = [...before, "bwrap"];
  const argv = [...rest, ...sandbox, "--seccomp", "0", "--", "/bin/sh", "-c", "exit 0"];
  const tried = spawnSync(program, argv, { timeout: 10_000, encoding: "utf8", input: filter });
  if (tried.error !== undefined) {
    const { code } = tried.error as NodeJS.ErrnoException;
    const name = program === "bwrap" ? "bubblewrap (bwrap)" : program;
    return code === "ENOENT" ? `${name} is not installed` : `${name} cannot be started (${code})`;
  }
  if (tried.status === 0) return undefined;
  return `bubblewrap does not work here: ${tried.stderr.trim().split("\n").at(-1) ?? "unknown"}`;
};

/** Returns true if this machine can start a sandbox as another user, otherwise the reason why not. */
const trySandboxAs = (user: number, trial: SandboxBase): true | string => {
  if (process.getuid?.() !== 0) return "the platform is not root";
  const { argv, binds } = stageFor(user, { binds: trial.files }, FIRST_FOLDER);
  return trySandbox(trial, argv, binds) ?? true;
};

/**
 * Returns a job's separate network and its resolver files. Reads the machine's settings once, so both results agree.
 */
const networkFor = (networks: Networks, { port, hostPorts = [], names = [], owner }: Job, folder: string) => {
  const host = readHostNetwork();
  const files = networks.nameFiles(folder, host, names, owner === undefined ? "" : ownerFolder(owner));
  if (port === undefined) return { files, network: networks.forBuild(hostPorts, host), onListening: undefined };
  return { files, network: networks.forService(port, host), onListening: () => networks.prepare(port) };
};

/**
 * Returns the runner, or the reason why it does not work on this machine.
 * @param folder the folder for files that sandboxes mount
 */
export const createBubblewrapRunner = (
  folder: string,
  groups: ControlGroups | undefined,
  watchdog: Watchdog,
  trialUser: number,
  networks?: Networks,
): Runner | string => {
  const features = findFeatures();
  const filter = callFilter(process.arch, groups !== undefined);
  const base = baseArguments(features, networks !== undefined);
  const files = accountFiles(folder);
  const trial = { base, files, filter };
  const problem = trySandbox(trial);
  if (problem !== undefined) return problem;
  const start: Runner["start"] = (given, onLine) => {
    const own = networks === undefined ? undefined : networkFor(networks, given, folder);
    const job = { ...given, binds: [...files, ...(own?.files ?? []), ...given.binds] };
    const network = own?.network;
    const staged = job.user === undefined ? undefined : stageFor(job.user, job, FIRST_FOLDER);
    const seen = staged === undefined ? job : { ...job, binds: staged.binds, folders: [] };
    const group = groups?.create(job.id, job.limits);
    const inner = askServer(GATE, group === undefined ? limitResources(job) : job.argv);
    const sandboxed = [...(staged?.argv ?? []), "bwrap", "--args", String(ARGUMENTS), "--", ...inner];
    return launch(
      {
        job,
        // The outermost step is first: joining the control group needs the server's rights. Each later step needs
        // fewer.
        argv: joinGroup(group, network === undefined ? sandboxed : joinNetwork(NETWORK, sandboxed)),
        env: helperEnvironment,
        cwd: "/",
        descriptors: [
          { input: argumentsFile([...sandboxArguments(seen, base), "--seccomp", String(FILTER)]) },
          { input: filter },
          { gate: true },
          { network: network !== undefined },
          ...(job.folders ?? []).map(({ fd }) => ({ open: fd })),
        ],
        helpers: ["bwrap", "unshare"],
        memoryFolders: MEMORY_FOLDERS,
        group,
        network,
        onListening: own?.onListening,
        watchdog,
      },
      onLine,
    );
  };
  const setsUser = trySandboxAs(trialUser, trial);
  const gaps = [
    ...(features.closesUserNamespaces ? [] : ["this bubblewrap has no --disable-userns; install 0.8 or newer"]),
    ...(filtersCalls(process.arch) ? [] : [`system calls are not filtered on ${process.arch}`]),
  ];
  const mountsFolders = features.bindsDescriptors;
  const ownNetwork = networks !== undefined;
  return { kind: "bubblewrap", mapsPaths: true, mountsFolders, setsUser, ownNetwork, gaps, start };
};
