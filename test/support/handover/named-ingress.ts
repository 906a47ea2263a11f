/** An ingress whose services `app` (HTTP/1.1) and `rpc` (HTTP/2) run in the same process and respond with its name. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { WebSocketServer } from "ws";
import { Ingress, type IngressConfig, type IngressPort } from "../../../adapters/local/ingress/index.ts";
import { Pool } from "../../../adapters/local/ingress/pool.ts";
import type { Instance } from "../../../adapters/local/instances/instance.ts";
import { randomIds } from "../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { FakeInstance } from "../providers/fake-pool.ts";

const templateOf = (name: string, useHttp2: boolean): ServiceTemplate => ({
  name: name as DeploymentName,
  owner: "acme" as AccountId,
  port: 8080,
  memory: 256 * 1024 ** 2,
  cpu: 1,
  timeout: 3600,
  concurrency: 1000,
  maxInstances: 1,
  minInstances: 0,
  sessionAffinity: false,
  useHttp2,
  mounts: [],
  schedule: null,
  cronToken: "token",
  env: {},
  image: "local://test",
  deployId: "test",
});

/** Responses that a test ends: `/events` sends what `emit` gets, and `/held` waits for `end`. */
const openResponses = () => {
  const open = new Set<{ write(text: string): unknown; end(text: string): unknown }>();
  return {
    open,
    emit: (text: string) => {
      for (const response of open) response.write(text);
    },
    end: (text: string) => {
      for (const response of open) response.end(text);
      open.clear();
    },
  };
};

type Responses = ReturnType<typeof openResponses>;

const respond = async (name: string, responses: Responses, req: IncomingMessage, res: ServerResponse) => {
  if (req.url === "/events" || req.url === "/held") {
    if (req.url === "/events") res.writeHead(200, { "content-type": "text/event-stream" }).write(`data: ${name}\n\n`);
    return responses.open.add(res);
  }
  const body = Buffer.concat(await Array.fromAsync(req as AsyncIterable<Buffer>));
  return res.end(`${name} ${body.length}`);
};

const listening = (server: Server): Promise<number> =>
  new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)));

const poolAt = (port: number): Pool => {
  const pool = new Pool({
    concurrency: 1000,
    maxInstances: 1,
    minInstances: 0,
    queueLimit: 100,
    waitMillis: 60_000,
    idle: "stop",
    idleMillis: 3_600_000,
    stopAfterMillis: 3_600_000,
    start: () => Promise.reject(new Error("The instance is fake.")),
    acquireQuota: () => false,
    releaseQuota: () => undefined,
    inTurn: (start) => start(),
    onStarted: () => undefined,
    onFrozen: () => undefined,
    onThawed: () => undefined,
    onSleepFailed: () => undefined,
    onIdle: () => undefined,
    onUnreachable: () => undefined,
    onCrashed: () => undefined,
  });
  const instance = Object.assign(new FakeInstance("i1"), { address: { host: "127.0.0.1", port } });
  pool.add(instance as unknown as Instance);
  return pool;
};

export const ingressWith = (options: Partial<IngressConfig> = {}): Ingress =>
  new Ingress({
    ids: randomIds,
    log: () => undefined,
    host: "127.0.0.1",
    port: 0,
    drainMillis: 1000,
    platform: (_req, res) => res.end("platform"),
    previousSharedPort: undefined,
    previousStoragePort: "any",
    sparePorts: 2,
    previousPort: () => undefined,
    serviceOfDomain: () => undefined,
    ...options,
  });

/** @param ports the ports of another process, which this ingress inherits */
export const startNamedIngress = async (
  name: string,
  ports: readonly IngressPort[] = [],
  options: Partial<IngressConfig> = {},
) => {
  const responses = openResponses();
  const http1 = createServer((req, res) => void respond(name, responses, req, res));
  // The tests measure the connections to the ingress. Connections to the instance must not end in between.
  http1.keepAliveTimeout = 3_600_000;
  const sockets = new WebSocketServer({ server: http1 });
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`${name} ${data}`)));
  const http2 = createHttp2();
  http2.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200 });
    if (headers[":path"] === "/held") responses.open.add(stream);
    else stream.end(name);
  });
  const ingress = ingressWith(options);
  await ingress.inherit(ports);
  await ingress.open();
  const upstreams = { app: await listening(http1), rpc: await listening(http2 as unknown as Server) };
  for (const [service, port] of Object.entries(upstreams)) {
    await ingress.addService(service);
    const serving = { template: templateOf(service, service === "rpc"), revision: "r1", pool: poolAt(port) };
    ingress.switchTo(service, serving);
  }
  return {
    ingress,
    ...responses,
    url: (service: keyof typeof upstreams) => `http://127.0.0.1:${ingress.portOf(service)}`,
    [Symbol.asyncDispose]: async () => {
      await ingress.close();
      sockets.close();
      http1.close();
      http1.closeAllConnections();
      http2.close();
    },
  };
};
