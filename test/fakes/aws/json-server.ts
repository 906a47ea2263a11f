/**
 * Servers of Amazon's JSON protocols on loopback, how those say errors, and settings with which the official clients send
 * their requests there: https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html and .../aws-restjson1-protocol.html
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { FaultKind, Faults } from "../faults.ts";
import { REGION } from "./test-config.ts";

// biome-ignore lint/suspicious/noExplicitAny: of whatever shape the method's input is
export type Input = any;

/** What a method throws: an exception of its service's model, by name, with its HTTP status. */
export class AwsError extends Error {
  readonly status: number;

  constructor(name: string, message: string, status = 400) {
    super(message);
    this.name = name;
    this.status = status;
  }
}

/** How calls fail that are told to; those whose reply is lost have none. */
export type InjectedErrors = Readonly<Record<Exclude<FaultKind, "reply_lost">, AwsError>>;

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonErrors.html, which the JSON services share */
export const injected: InjectedErrors = {
  unavailable: new AwsError("ServiceUnavailableException", "The service cannot complete the request (injected).", 503),
  permission_denied: new AwsError("AccessDeniedException", "User is not authorized to perform this (injected)."),
  resource_exhausted: new AwsError("ThrottlingException", "Rate exceeded (injected)."),
};

export interface AwsRequest {
  readonly verb: string;
  readonly url: URL;
  /** `SERVICE.Method` of the JSON 1.1 protocol; empty elsewhere. */
  readonly target: string;
  readonly body: Input;
}

export interface AwsMethod {
  /** For counts and faults. */
  readonly method: string;
  readonly act: () => object | Promise<object>;
}

export interface AwsApi {
  readonly faults: Faults;
  /** Undefined: there is no such method. */
  readonly route: (request: AwsRequest) => AwsMethod | undefined;
  /** Where the service has names of its own. */
  readonly injected?: InjectedErrors;
}

export interface AwsServer {
  readonly origin: string;
  close(): void;
}

const requestOf = async (incoming: IncomingMessage): Promise<AwsRequest> => {
  const given = await text(incoming);
  return {
    verb: incoming.method ?? "GET",
    url: new URL(incoming.url ?? "/", "http://fake"),
    target: String(incoming.headers["x-amz-target"] ?? ""),
    body: given === "" ? {} : JSON.parse(given),
  };
};

export const serveAws = async ({ faults, route, injected: errors = injected }: AwsApi): Promise<AwsServer> => {
  /** Undefined: the reply is lost. */
  const answer = async (incoming: IncomingMessage): Promise<object | undefined> => {
    const request = await requestOf(incoming);
    const found = route(request);
    if (found === undefined)
      throw new AwsError("UnknownOperationException", `no method ${request.target} at ${request.url.pathname}`, 404);
    const fault = faults.enter(found.method);
    if (fault !== undefined && fault !== "reply_lost") throw errors[fault];
    const done = await found.act();
    return fault === "reply_lost" ? undefined : done;
  };
  const server = createServer((request, response) => {
    const send = (status: number, body: object, headers = {}) =>
      response
        .writeHead(status, { "content-type": "application/x-amz-json-1.1", ...headers })
        .end(JSON.stringify(body));
    answer(request).then(
      (done) => (done === undefined ? response.destroy() : send(200, done)),
      (error: Error) => {
        const known = error instanceof AwsError;
        const shown = known ? error : new AwsError("InternalFailure", `the fake met a bug: ${error.stack}`, 500);
        const { name, message, status } = shown;
        send(status, { __type: name, message, Message: message }, { "x-amzn-errortype": name });
      },
    );
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

/** A service of the JSON 1.1 protocol by its methods. */
export const jsonRoute =
  (service: string, methods: Readonly<Record<string, (input: Input) => object | Promise<object>>>): AwsApi["route"] =>
  ({ target, body }) => {
    const [name, method = ""] = target.split(".");
    const act = name === service && Object.hasOwn(methods, method) ? methods[method] : undefined;
    return act === undefined ? undefined : { method, act: () => act(body) };
  };

/** For the official clients; the repeats of theirs are off, as the adapter has them. */
export const clientSettings = (endpoint: string) => ({
  endpoint,
  region: REGION,
  credentials: { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "not-a-secret" },
  maxAttempts: 1,
});
