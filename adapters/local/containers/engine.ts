/**
 * Finds this machine's container engine, Docker or Podman, by its socket. Both implement Docker's API:
 * https://docs.docker.com/reference/api/engine/
 */
import { existsSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { hostname, release } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type Dockerode from "dockerode";
import { findPackage, needPackages } from "../../shared/runtime/optional-package.ts";

export interface ContainerEngine {
  /** Returns the client of the container engine's API. The first call loads the client, which takes 10 MB of memory. */
  docker(): Promise<Dockerode>;
  /**
   * Sends a GET request without loading the client. Rejects with a `statusCode` if the container engine returns an
   * error.
   */
  get(path: string): Promise<unknown>;
  readonly name: "Docker" | "Podman";
  readonly version: string;
  /** The platform of the container engine's images, such as linux/amd64. */
  readonly platform: string;
  /** Whether the processes of containers run on this machine's kernel, not in a virtual machine. */
  readonly sharesKernel: boolean;
  /** Whether the container engine runs without root. Root in a container is then this process's user. */
  readonly rootless: boolean;
  /**
   * Whether the container engine can start an init process in a container. Without one, the container's program is
   * process 1, which receives SIGTERM only if it handles the signal.
   */
  readonly hasInit: boolean;
  /**
   * Environment variables for the container engine's command line: the PATH on which to find the program, and the
   * container engine's socket.
   */
  readonly environment: Readonly<Record<string, string>>;
}

const RESPONSE_TIMEOUT_MS = 5000;

/** Returns the possible socket paths of container engines. If `DOCKER_HOST` is set, returns only its path. */
const socketsIn = ({ DOCKER_HOST: host, XDG_RUNTIME_DIR: runtime, HOME: home }: NodeJS.ProcessEnv): string[] => {
  if (host !== undefined && host !== "") return host.startsWith("unix://") ? [host.slice("unix://".length)] : [];
  return [
    "/var/run/docker.sock",
    ...(home === undefined ? [] : [join(home, ".docker", "run", "docker.sock")]),
    ...(runtime === undefined ? [] : [join(runtime, "docker.sock"), join(runtime, "podman", "podman.sock")]),
    "/run/podman/podman.sock",
  ];
};

const get = async (socketPath: string, path: string): Promise<unknown> => {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request({ socketPath, path }, resolve).once("error", reject).end();
  const response = await promise;
  const body = await text(response);
  const { statusCode } = response;
  if (statusCode === 200) return JSON.parse(body);
  throw Object.assign(new Error(`The container engine responded to ${path} with ${statusCode}: ${body}`), {
    statusCode,
  });
};

const clientAt = (socketPath: string): (() => Promise<Dockerode>) => {
  let client: Promise<Dockerode> | undefined;
  return () => {
    client ??= import("dockerode").then(({ default: Client }) => new Client({ socketPath }));
    return client;
  };
};

const open = async (socketPath: string, path: string): Promise<ContainerEngine | string> => {
  try {
    const [version, info] = await Promise.race([
      Promise.all([
        get(socketPath, "/version") as Promise<Dockerode.DockerVersion>,
        get(socketPath, "/info") as Promise<Record<string, unknown>>,
      ]),
      new Promise<never>((_resolve, reject) =>
        setTimeout(
          () => reject(new Error(`no response within ${RESPONSE_TIMEOUT_MS / 1000} s`)),
          RESPONSE_TIMEOUT_MS,
        ).unref(),
      ),
    ]);
    const isPodman = (version.Components ?? []).some(({ Name }) => Name.includes("Podman"));
    return {
      docker: clientAt(socketPath),
      get: (path) => get(socketPath, path),
      name: isPodman ? "Podman" : "Docker",
      version: version.Version,
      platform: `${version.Os}/${version.Arch}`,
      sharesKernel: process.platform === "linux" && info["KernelVersion"] === release() && info["Name"] === hostname(),
      rootless: ((info["SecurityOptions"] ?? []) as string[]).some((option) => option.includes("rootless")),
      hasInit: isPodman ? existsSync("/usr/libexec/podman/catatonit") : info["InitBinary"] !== "",
      environment: { PATH: path, [isPodman ? "CONTAINER_HOST" : "DOCKER_HOST"]: `unix://${socketPath}` },
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `${socketPath} ${code === "EACCES" ? "denies access to this user" : `does not respond (${code ?? message})`}`;
  }
};

/** Returns the first container engine that responds, or the reason why none responds. */
export const findEngine = async (environment: NodeJS.ProcessEnv): Promise<ContainerEngine | string> => {
  const sockets = socketsIn(environment);
  if (sockets.length === 0) return "DOCKER_HOST does not name a socket (unix://PATH)";
  const there = sockets.filter(existsSync);
  if (there.length === 0) return `neither Docker nor Podman listens at ${sockets.join(", ")}`;
  // In a bundle, the client can be loaded although its package is not installed.
  const loadable = async () => findPackage("dockerode") ?? import("dockerode");
  const missing = await needPackages("Docker or Podman", ["dockerode"], loadable).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  if (missing !== undefined) return missing;
  const problems: string[] = [];
  for (const socket of there) {
    const engine = await open(socket, environment["PATH"] ?? "");
    if (typeof engine !== "string") return engine;
    problems.push(engine);
  }
  return problems.join("; ");
};

/** Returns the HTTP status of the container engine's response; undefined if the container engine did not respond. */
export const statusOf = (error: unknown): number | undefined => (error as { statusCode?: number }).statusCode;

/**
 * Returns whether the container engine has the image with this id or name. Rejects if the container engine does not
 * respond.
 */
export const hasImage = (engine: Pick<ContainerEngine, "get">, image: string): Promise<boolean> =>
  engine.get(`/images/${image}/json`).then(
    () => true,
    (error: unknown) => {
      if (statusOf(error) === 404) return false;
      throw error;
    },
  );

/** Waits until the container engine has finished an operation. Rejects if one of its progress messages is an error. */
export const awaitProgress = (docker: Dockerode, progress: NodeJS.ReadableStream): Promise<void> =>
  new Promise((resolve, reject) => {
    docker.modem.followProgress(progress, (error, items: readonly { error?: string }[]) => {
      const message = items.find((item) => item.error !== undefined)?.error;
      if (message !== undefined) reject(new Error(message));
      else if (error) reject(error);
      else resolve();
    });
  });

/** Returns the container engine's error message. */
export const engineMessage = (error: unknown): string => {
  const { json, message } = error as { json?: { message?: string }; message?: string };
  return json?.message ?? message ?? String(error);
};
