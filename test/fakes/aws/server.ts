/** The loopback server of all AWS fakes. Reads whole requests, counts them, injects faults, and replies. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { FaultKind, Faults } from "../faults.ts";

/** An error of a method: the exception's name in the service's model, and its HTTP status. */
export class AwsError extends Error {
  readonly code: string;
  readonly status: number;
  /** The exception's fields besides its message. */
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
  /** As sent, still escaped. */
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
  /** The name for counts and faults: `s3.PutObject`. */
  readonly method: string;
  readonly act: () => AwsReply | Promise<AwsReply>;
}

/** The errors for injected faults. A lost reply has none. */
export type InjectedErrors = Readonly<Record<Exclude<FaultKind, "reply_lost">, AwsError>>;

/** A fake AWS service: its methods and the error format of its protocol. */
export interface AwsService {
  /** Undefined: the call does not exist. */
  readonly route: (request: AwsRequest) => AwsMethod | undefined;
  /** Formats an error for the protocol. */
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
  /** Returns the reply; undefined if it must be lost. */
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
      // A bug in the fake must be visible and must not be retried.
      return failed(new AwsError("FakeFailed", `The fake failed with a bug: ${(error as Error).stack}`), request);
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
    // The client disconnected.
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
