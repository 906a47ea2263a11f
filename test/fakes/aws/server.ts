/** A loopback server for the protocols of Amazon's services: whole requests in, counted and failed as told, replies out. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { FaultKind, Faults } from "../faults.ts";

/** What a method throws: an error with its status and the name of its exception in the service's model. */
export class AwsError extends Error {
  readonly status: number;
  readonly code: string;
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, fields: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
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

export interface AwsApi {
  readonly faults: Faults;
  /** Undefined: there is no such call. */
  readonly route: (request: AwsRequest) => AwsMethod | undefined;
  /** How the protocol says errors. */
  readonly failed: (error: AwsError, request: AwsRequest) => AwsReply;
  readonly injected: InjectedErrors;
}

export interface AwsServer {
  readonly url: string;
  close(): Promise<void>;
}

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonErrors.html; services may have words of their own. */
export const injected: InjectedErrors = {
  unavailable: new AwsError(503, "ServiceUnavailable", "The service is unavailable (injected)."),
  permission_denied: new AwsError(403, "AccessDeniedException", "You may not do this (injected)."),
  resource_exhausted: new AwsError(429, "ThrottlingException", "Rate exceeded (injected)."),
};

/** AWS JSON 1.0 and 1.1, and REST-JSON: https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html#operation-error-serialization */
export const jsonFailed = ({ status, code, message, fields }: AwsError): AwsReply => ({
  status,
  headers: { "content-type": "application/json", "x-amzn-errortype": code },
  body: JSON.stringify({ __type: code, message, ...fields }),
});

export const jsonReply = (value: unknown, status = 200): AwsReply => ({
  status,
  headers: { "content-type": "application/json" },
  ...(value === undefined ? {} : { body: JSON.stringify(value) }),
});

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

export const serveAws = async ({ faults, route, failed, injected: errors }: AwsApi): Promise<AwsServer> => {
  /** Undefined: the reply is lost. */
  const answer = async (request: AwsRequest): Promise<AwsReply | undefined> => {
    try {
      const found = route(request);
      if (found === undefined) throw new AwsError(501, "NotImplemented", `no call at ${request.verb} ${request.path}`);
      const fault = faults.enter(found.method);
      if (fault !== undefined && fault !== "reply_lost") throw errors[fault];
      const reply = await found.act();
      return fault === "reply_lost" ? undefined : reply;
    } catch (error) {
      if (error instanceof AwsError) return failed(error, request);
      // A mistake of the fake's has to show, and not be repeated.
      return failed(new AwsError(400, "FakeFailed", `The fake met a bug: ${(error as Error).stack}`), request);
    }
  };

  const serve = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await requestOf(message);
    const reply = await answer(request);
    if (reply === undefined) return void response.destroy();
    const body = reply.body ?? "";
    response.writeHead(reply.status, { "content-length": Buffer.byteLength(body), ...reply.headers });
    response.end(request.verb === "HEAD" ? undefined : body);
  };

  const server = createServer((message, response) => {
    // A request that was cut is nobody's business.
    serve(message, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
