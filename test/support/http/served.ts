/** `portside serve` as a child process, and its API. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Deployment } from "../../../core/domain/deploy/deployment.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { linesOf } from "./record-stream.ts";

const repository = join(import.meta.dirname, "..", "..", "..");

/** How long a client waits for one response. */
const TIMEOUT_MS = 60_000;

export interface Served {
  readonly child: ChildProcess;
  readonly url: string;
  /** The URL of the API at the TLS port, if that port serves the API. */
  readonly httpsApi: string | undefined;
  /** The first key, if this start created it. */
  readonly apiKey: string | undefined;
  /** The URL of the metrics, if enabled. */
  readonly metrics: string | undefined;
  /** Its standard error. */
  readonly errors: string[];
}

/**
 * Starts a server in a new process group; calls `started` before it is ready.
 * @param options by name; true for an option without a value
 * @param node flags for Node itself
 */
export const serve = async (
  dataDir: string,
  options: Readonly<Record<string, string | true>>,
  started: (child: ChildProcess) => void = () => {},
  node: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<Served> => {
  const flags: typeof options = {
    "data-dir": dataDir,
    port: "0",
    "ingress-port": "0",
    "log-level": "warn",
    ...options,
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, ...(value === true ? [] : [value])]);
  const child = spawn(process.execPath, [...node, "hosts/cli/main.ts", "serve", "--json", ...args], {
    cwd: repository,
    env: { PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`, HOME: dataDir, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const errors: string[] = [];
  createInterface({ input: child.stderr as Readable }).on("line", (line) => errors.push(line));
  started(child);
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout as Readable }), "line"),
    once(child, "exit").then(([code, signal]) => {
      throw new ServerEnded(`the server ended (${code ?? signal}) before it was ready: ${errors.join("\n")}`);
    }),
  ])) as [string];
  const { url, https_api: httpsApi, api_key: apiKey, metrics } = JSON.parse(line);
  return { child, url, httpsApi, apiKey, metrics, errors };
};

export class ServerEnded extends Error {}

const inJson = (body: unknown): RequestInit => ({
  method: "POST",
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" },
});

async function* recordsIn(response: Response): AsyncGenerator<DeployEvent> {
  for await (const line of linesOf(response.body as ReadableStream<Uint8Array>)) yield JSON.parse(line) as DeployEvent;
}

/** Shuts the server down cleanly, so that none of its processes remain. */
export const end = async ({ child }: Pick<Served, "child">): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
};

/** The API calls that the crash tests need. */
export class Client {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** The records of a deploy as they arrive. */
  async *deploy(
    name: string,
    source: Uint8Array,
    volumes: Readonly<Record<string, string>> = {},
    fields: Readonly<Record<string, string>> = {},
  ): AsyncGenerator<DeployEvent> {
    const form = new FormData();
    for (const [field, value] of Object.entries(fields)) form.set(field, value);
    form.set("function_name", name);
    form.set("volumes", JSON.stringify(volumes));
    form.set("source_archive", new Blob([source as Uint8Array<ArrayBuffer>]), "source.tar.gz");
    yield* recordsIn(await this.#send("/v1/deploy", { method: "POST", body: form }));
  }

  /** The records of a redeploy (such as a rollback) or of the deploy at this path, as they arrive. */
  async *follow(path: string, body?: unknown): AsyncGenerator<DeployEvent> {
    yield* recordsIn(await this.#send(path, body === undefined ? {} : inJson(body)));
  }

  /** All records of `follow`. Resolves when the redeploy has ended. */
  async records(path: string, body?: unknown): Promise<DeployEvent[]> {
    return Array.fromAsync(this.follow(path, body));
  }

  list(): Promise<Deployment[]> {
    return this.get("/v1/deployment/list");
  }

  async remove(name: string): Promise<void> {
    await this.#json("/v1/deployment/delete", { name });
  }

  /** The newest entries of a deployment's log that are JSON; none if it has no log. */
  async entries(name: string): Promise<Record<string, unknown>[]> {
    const request = { deployment_name: name, limit: 1000 };
    const { logs } = await this.#json<{ logs: { message: string }[] }>("/v1/deployment/logs", request).catch(
      (error: Error) => {
        if (error.message.includes("returned 404")) return { logs: [] };
        throw error;
      },
    );
    return logs.flatMap(({ message }) => (message.startsWith("{") ? [JSON.parse(message)] : []));
  }

  /** A small request and its response. */
  post<T>(path: string, body: unknown): Promise<T> {
    return this.#json(path, body);
  }

  get<T>(path: string): Promise<T> {
    return this.#json(path);
  }

  async #json<T>(path: string, body?: unknown): Promise<T> {
    return (await (await this.#send(path, body === undefined ? {} : inJson(body))).json()) as T;
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), "x-api-key": this.#key };
    const response = await fetch(this.#url + path, { ...init, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return response;
  }
}
