/** Converts a job to the container engine's options, which define the container's limits and rights. */
import type { ContainerCreateOptions, HostConfig } from "dockerode";
import { LOW_WEIGHT } from "../../shared/runtime/low-priority.ts";
import type { Bind, Limits } from "../sandbox/runner.ts";
import type { ContainerEngine } from "./engine.ts";

export interface ContainerJob {
  /** Unique on this machine. */
  readonly id: string;
  readonly image: string;
  /** Empty for the image's own command. */
  readonly argv: readonly string[];
  readonly cwd: string | undefined;
  readonly user: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Services must not be able to write to any parent of the paths on this machine. */
  readonly mounts: readonly Bind[];
  readonly limits: Limits;
  readonly network: string;
  /** The port that the container engine publishes on this machine's loopback address, if any. */
  readonly port?: { readonly inside: number; readonly host: number };
  /** Whether the container's own files are read-only, except /tmp. */
  readonly readOnly: boolean;
  /** The maximum number of bytes that the container may write to its own files. */
  readonly disk: number;
  readonly capabilities: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * The capabilities for images whose entry point starts as root and then switches users. They affect only the container.
 * https://man7.org/linux/man-pages/man7/capabilities.7.html
 */
export const imageCapabilities = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "KILL",
  "NET_BIND_SERVICE",
  "SETGID",
  "SETPCAP",
  "SETUID",
];

/** @param job the job's id */
export const containerName = (job: string): string => `portside-${job}`;

/**
 * The size of each of a container's two log files. Small files suffice, because the server reads output as it arrives.
 */
const LOG_FILE = "32m";

type Engine = Pick<ContainerEngine, "hasInit" | "name">;

const logConfig = (name: Engine["name"]): HostConfig["LogConfig"] => {
  const kept = { "max-size": LOG_FILE, "max-file": "2" };
  // Docker writes and reads its `local` format much faster than JSON. Podman supports only JSON.
  return name === "Docker"
    ? { Type: "local", Config: { ...kept, compress: "false" } }
    : { Type: "json-file", Config: kept };
};

/** Microseconds. */
const CPU_PERIOD = 100_000;
const DEFAULT_SHARES = 1024;

const hostConfig = (job: ContainerJob, { hasInit, name }: Engine): HostConfig => {
  const { limits, port } = job;
  return {
    Memory: limits.memory,
    // A value equal to the memory limit disables swap.
    MemorySwap: limits.memory,
    // Docker rejects NanoCpus beyond the machine's number of CPUs.
    CpuPeriod: CPU_PERIOD,
    CpuQuota: limits.cpu * CPU_PERIOD,
    ...(limits.yieldsCpu ? { CpuShares: DEFAULT_SHARES * LOW_WEIGHT } : {}),
    PidsLimit: limits.processes,
    CapDrop: ["ALL"],
    CapAdd: [...job.capabilities],
    SecurityOpt: ["no-new-privileges"],
    Init: hasInit,
    NetworkMode: job.network,
    ReadonlyRootfs: job.readOnly,
    ...(job.readOnly ? { Tmpfs: { "/tmp": `size=${limits.memory},mode=1777` } } : {}),
    LogConfig: logConfig(name),
    Mounts: job.mounts.map(({ host, inside, writable }) => ({
      Type: "bind",
      Source: host,
      Target: inside,
      ReadOnly: !writable,
    })),
    ...(port === undefined
      ? {}
      : { PortBindings: { [`${port.inside}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: String(port.host) }] } }),
  };
};

export const createOptions = (job: ContainerJob, engine: Engine): ContainerCreateOptions => ({
  name: containerName(job.id),
  Image: job.image,
  ...(job.argv.length === 0 ? {} : { Entrypoint: [...job.argv], Cmd: [] }),
  ...(job.cwd === undefined ? {} : { WorkingDir: job.cwd }),
  ...(job.user === undefined ? {} : { User: job.user }),
  Env: Object.entries(job.env).map(([name, value]) => `${name}=${value}`),
  Labels: { ...job.labels },
  // Otherwise the container engine would run the image's health check, up to once per millisecond.
  Healthcheck: { Test: ["NONE"] },
  ...(job.port === undefined ? {} : { ExposedPorts: { [`${job.port.inside}/tcp`]: {} } }),
  HostConfig: hostConfig(job, engine),
});
