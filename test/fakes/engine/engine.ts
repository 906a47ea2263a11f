/** The engine that runs revisions of the fake clouds, and a fake engine without processes for tests of API calls. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { HealthCheck } from "../../../core/domain/deploy/health.ts";
import type { HttpRequestLog, JsonPayload, Severity } from "../../../core/domain/logs/entry.ts";

export interface EngineRevision {
  readonly service: string;
  readonly revision: string;
  /** The engine's name for the image. */
  readonly image: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  /** Bytes. */
  readonly memory: number;
  readonly cpu: number;
  /** Seconds. */
  readonly timeout: number;
  readonly concurrency: number;
  readonly maxInstances: number;
  readonly sessionAffinity: boolean;
  readonly http2: boolean;
  readonly mounts: readonly { path: string; bucket: string; readOnly: boolean; subPath?: string }[];
  /** Milliseconds within which the revision must listen. */
  readonly listenMillis: number;
  /** The HTTP probes. Absent: the revision must accept connections. */
  readonly health?: HealthCheck;
}

/**
 * Cloud Run's line about a failed HTTP startup probe, as quoted in
 * https://github.com/GoogleCloudPlatform/opentelemetry-operations-collector/issues/264
 */
export const formatFailedProbe = (
  { service, port, listenMillis }: EngineRevision,
  { path, timeout }: HealthCheck,
  isListening: boolean,
): string => {
  const times = Math.max(1, Math.floor(listenMillis / 1000 / timeout));
  const failed = `STARTUP HTTP probe failed ${times} times consecutively for container "${service}-1" on port ${port} path "${path}". The instance was not started.`;
  return isListening ? failed : `${failed} Connection failed with status ERROR_CONNECTION_FAILED.`;
};

/** Cloud Run's line about a startup probe whose container ended. It follows the line about the end. */
export const formatCancelledProbe = ({ service, port }: EngineRevision, { path }: HealthCheck): string =>
  `STARTUP HTTP probe failed 1 time consecutively for container "${service}-1" on port ${port} path "${path}". The instance was not started. Connection failed with status CANCELLED.`;

/** A line of a revision's log, as Cloud Run sends it to Cloud Logging. */
export interface RunLine {
  readonly service: string;
  readonly revision: string;
  readonly instance?: string;
  /** The log's id after `run.googleapis.com/`: https://docs.cloud.google.com/run/docs/logging */
  readonly log: "stdout" | "stderr" | "requests" | "varlog/system";
  readonly severity: Severity;
  readonly text?: string;
  readonly json?: JsonPayload;
  readonly http?: HttpRequestLog;
}

export interface RunEngine {
  /**
   * Starts a revision without traffic. Returns true once it listens, false if it does not; its log contains the reason.
   */
  start(revision: EngineRevision): Promise<boolean>;
  /** Sends all requests to the revision that was started last, or to one that served before. */
  serve(service: string, revision: string): Promise<void>;
  url(service: string): Promise<string>;
  remove(service: string): Promise<void>;
}

/** Listens on a free port, and responds to every request with this status. */
const respondWith = async (status: number) => {
  const server = createServer((_request, response) => response.writeHead(status).end("pretended"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
};

/**
 * Every revision listens immediately and responds with 200, except for special images: `exits:N` exits with code N,
 * `silent` never listens, `unhealthy` never passes an HTTP probe, `hangs` never finishes starting, and `sick:N`
 * responds with status N.
 */
export const createFakeEngine = async (onLine: (line: RunLine) => void) => {
  const server = await respondWith(200);
  const sick = new Map<string, Awaited<ReturnType<typeof respondWith>>>();
  const serving = new Map<string, string>();
  const engine: RunEngine = {
    start: async (spec) => {
      const { service, revision, image, health } = spec;
      if (health !== undefined && (image === "silent" || image === "unhealthy")) {
        const text = formatFailedProbe(spec, health, image === "unhealthy");
        onLine({ service, revision, log: "varlog/system", severity: "ERROR", text });
        return false;
      }
      const code = /^exits:(\d+)$/.exec(image)?.[1];
      if (image === "hangs") return new Promise<never>(() => undefined);
      const status = /^sick:(\d+)$/.exec(image)?.[1];
      if (status !== undefined && !sick.has(service)) sick.set(service, await respondWith(Number(status)));
      if (code === undefined) return image !== "silent";
      onLine({ service, revision, log: "stdout", severity: "DEFAULT", text: "leaving" });
      onLine({ service, revision, log: "varlog/system", severity: "WARNING", text: `Container called exit(${code}).` });
      if (health === undefined) return false;
      const text = formatCancelledProbe(spec, health);
      onLine({ service, revision, log: "varlog/system", severity: "ERROR", text });
      return false;
    },
    serve: async (service, revision) => void serving.set(service, revision),
    url: async (service) => (sick.get(service) ?? server).url,
    remove: async (service) => void serving.delete(service),
  };
  const close = () => {
    for (const one of [server, ...sick.values()]) one.close();
  };
  return { engine, serving: serving as ReadonlyMap<string, string>, close };
};
