/** The loopback server of all of Amazon's fakes: whole requests in, counted and failed as told, replies out. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { FaultKind, Faults } from "../faults.ts";

/** What a method throws: the name of an exception in the service's model, and its HTTP status. */
export class AwsError extends Error {
  readonly code: string;
  readonly status: number;
  /** What the exception has beside its message. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, status = 400, fields: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.fields = fields;
  }
}

export interface AwsRequest {
  readonly verb: string;
  /** As it was sent, still escaped. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

export interface AwsReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Uint8Array | string;
}

export interface AwsMethod {
  /** For counts and faults: `s3.PutObject`. */
  readonly method: string;
  readonly act: () => AwsReply | Promise<AwsReply>;
}

/** How calls fail that are told to; those whose reply is lost have none. */
export type InjectedErrors = Readonly<Record<Exclude<FaultKind, "reply_lost">, AwsError>>;

/** A service in one of the protocols. */
export interface AwsService {
  /** Undefined: there is no such call. */
  readonly route: (request: AwsRequest) => AwsMethod | undefined;
  /** How the protocol says errors. */
  readonly failed: (error: AwsError, request: AwsRequest) => AwsReply;
  readonly injected: InjectedErrors;
}

export interface AwsServer {
  readonly endpoint: string;
  close(): Promise<void>;
}

const requestOf = async (message: IncomingMessage): Promise<AwsRequest> => {
  const [path = "/", search = ""] = (message.url ?? "/").split(/\?(.*)/s);
  const headers = Object.entries(message.headers).map(([name, value]) => [name, [value].flat().join(",")]);
  return {
    verb: message.method ?? "GET",
    path,
    query: new URLSearchParams(search),
    headers: Object.fromEntries(headers),
    body: await buffer(message),
  };
};

export const serveAws = async (faults: Faults, { route, failed, injected }: AwsService): Promise<AwsServer> => {
  /** Undefined: the reply is lost. */
  const answer = async (request: AwsRequest): Promise<AwsReply | undefined> => {
    try {
      const found = route(request);
      if (found === undefined) throw new AwsError("NotImplemented", `no call at ${request.verb} ${request.path}`, 501);
      const fault = faults.enter(found.method);
      if (fault !== undefined && fault !== "reply_lost") throw injected[fault];
      const reply = await found.act();
      return fault === "reply_lost" ? undefined : reply;
    } catch (error) {
      if (error instanceof AwsError) return failed(error, request);
      // A mistake of the fake's has to show, and not be repeated.
      return failed(new AwsError("FakeFailed", `The fake met a bug: ${(error as Error).stack}`), request);
    }
  };

  const serve = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await requestOf(message);
    const reply = await answer(request);
    if (reply === undefined) return void response.destroy();
    const body = reply.body ?? "";
    response.writeHead(reply.status, {
      "content-length": Buffer.byteLength(body),
      "x-amzn-requestid": "fake",
      ...reply.headers,
    });
    response.end(request.verb === "HEAD" ? undefined : body);
  };

  const server = createServer((message, response) => {
    // A request that was cut is nobody's business.
    serve(message, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
