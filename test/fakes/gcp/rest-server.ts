/** A server of Google's JSON APIs on loopback, and credentials that send the packages' requests there. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { GoogleAuth, PassThroughClient } from "google-auth-library";
import type { Faults } from "./faults.ts";

export interface RestReply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RestRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** The error model of JSON APIs: https://cloud.google.com/apis/design/errors#http_mapping */
export const restError = (status: number, message: string): RestReply => ({
  status,
  body: { error: { code: status, message, errors: [{ message, reason: "injected" }] } },
});

const injected = {
  unavailable: restError(503, "injected: the service is unavailable"),
  permission_denied: restError(403, "injected: permission denied"),
  resource_exhausted: restError(429, "injected: quota exceeded"),
};

/** @param route the method's name, for counting and faults, and what it does; undefined: no such path */
export const serveRest = async (
  faults: Faults,
  route: (request: RestRequest) => { method: string; act: () => RestReply | Promise<RestReply> } | undefined,
): Promise<{ readonly origin: string; close(): void }> => {
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const url = new URL(req.url ?? "/", "http://fake");
    const request = { method: req.method ?? "GET", url, headers: req.headers, body: Buffer.concat(chunks) };
    const found = route(request);
    const fault = found === undefined ? undefined : faults.enter(found.method);
    const reply =
      fault !== undefined && fault !== "reply_lost"
        ? injected[fault]
        : ((await found?.act()) ?? restError(404, `no such path: ${req.method} ${req.url}`));
    if (fault === "reply_lost") return void req.socket.destroy();
    const raw = Buffer.isBuffer(reply.body);
    res.writeHead(reply.status, {
      "content-type": raw ? "application/octet-stream" : "application/json",
      ...reply.headers,
    });
    res.end(raw ? reply.body : JSON.stringify(reply.body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

/** No credentials; requests to Google's hosts go to those that are named instead of them. */
export const redirectedAuth = (projectId: string, origins: Readonly<Record<string, string>>) => {
  class Redirected extends PassThroughClient {
    override request<T>(options: Parameters<PassThroughClient["request"]>[0]) {
      const url = new URL(String(options.url));
      const origin = origins[url.origin];
      if (origin === undefined) throw new Error(`a test may not call ${url.origin}`);
      return super.request<T>({ ...options, url: `${origin}${url.pathname}${url.search}` });
    }
  }
  return new GoogleAuth({ projectId, authClient: new Redirected() });
};
