/** What a container may do and use: pure, from a job to the engine's words. */
import type { ContainerCreateOptions, HostConfig } from "dockerode";
import type { Limits } from "../runner/runner.ts";
import type { ContainerEngine } from "./engine.ts";

/** A host path that the container sees at `inside`; nothing that a service can write lies on the way to it. */
export interface Mounted {
  readonly host: string;
  readonly inside: string;
  readonly writable: boolean;
}

export interface ContainerJob {
  /** Unique on this machine. */
  readonly id: string;
  readonly image: string;
  /** Empty: the image's own. */
  readonly argv: readonly string[];
  readonly cwd: string | undefined;
  readonly user: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly Mounted[];
  readonly limits: Limits;
  readonly network: string;
  /** Reached at the host's loopback; absent: nothing is. */
  readonly port?: { readonly inside: number; readonly host: number };
  /** Its own files cannot be changed, but for /tmp. */
  readonly readOnly: boolean;
  /** Bytes that it may write into its own files. */
  readonly disk: number;
  readonly capabilities: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * What images expect whose entry point begins as root and goes on as somebody else; none of it reaches beyond the
 * container. https://man7.org/linux/man-pages/man7/capabilities.7.html
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

/** @param job its id */
export const containerName = (job: string): string => `portside-${job}`;

/** Two files of it: what is read as it comes need not be kept, and a flood must not fill the disk. */
const LOG_FILE = "32m";

type Engine = Pick<ContainerEngine, "hasInit" | "name">;

const logConfig = (name: Engine["name"]): HostConfig["LogConfig"] => {
  const kept = { "max-size": LOG_FILE, "max-file": "2" };
  // Far cheaper to write and to read than JSON; Podman has only that, under this name.
  return name === "Docker"
    ? { Type: "local", Config: { ...kept, compress: "false" } }
    : { Type: "json-file", Config: kept };
};

/** Microseconds. */
const CPU_PERIOD = 100_000;

const hostConfig = (job: ContainerJob, { hasInit, name }: Engine): HostConfig => {
  const { limits, port } = job;
  return {
    Memory: limits.memory,
    // The same: no swap.
    MemorySwap: limits.memory,
    // Docker refuses NanoCpus for more CPUs than the machine has.
    CpuPeriod: CPU_PERIOD,
    CpuQuota: limits.cpu * CPU_PERIOD,
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
  Image: job.image,
  ...(job.argv.length === 0 ? {} : { Entrypoint: [...job.argv], Cmd: [] }),
  ...(job.cwd === undefined ? {} : { WorkingDir: job.cwd }),
  ...(job.user === undefined ? {} : { User: job.user }),
  Env: Object.entries(job.env).map(([name, value]) => `${name}=${value}`),
  Labels: { ...job.labels },
  // The engine itself would run an image's health check, as often as every millisecond.
  Healthcheck: { Test: ["NONE"] },
  ...(job.port === undefined ? {} : { ExposedPorts: { [`${job.port.inside}/tcp`]: {} } }),
  HostConfig: hostConfig(job, engine),
});
