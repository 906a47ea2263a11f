/** A loopback server for Google's JSON APIs, with their error format, and credentials that redirect requests to it. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { GoogleAuth, PassThroughClient } from "google-auth-library";
import type { FaultKind, Faults } from "../faults.ts";
import { recordRest } from "./requests/recorder.ts";

/** Thrown by methods: an error with status and reason (https://cloud.google.com/apis/design/errors#http_mapping). */
export class RestError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/** https://cloud.google.com/storage/docs/json_api/v1/status-codes#errorformat */
export const errorBody = ({ status, reason, message }: RestError) => ({
  error: { code: status, message, errors: [{ domain: "global", reason, message }] },
});

/** google.rpc.Code by HTTP status: https://cloud.google.com/apis/design/errors#http_mapping */
const codeNames: ReadonlyMap<number, string> = new Map([
  [400, "INVALID_ARGUMENT"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [409, "ALREADY_EXISTS"],
  [429, "RESOURCE_EXHAUSTED"],
  [500, "INTERNAL"],
  [503, "UNAVAILABLE"],
]);

/**
 * Cloud Storage's format plus `status`, as IAM and BigQuery send it: traffic that k8s-config-connector recorded, under
 * `pkg/test/resourcefixture/testdata/basic` (`iam/v1beta1/iamserviceaccount/iamserviceaccount/_http.log`,
 * `bigquery/v1beta1/bigquerydataset/basicbigquerydataset-direct/_http.log`).
 */
const errorBodyWithStatus = (failed: RestError): object => ({
  error: { ...errorBody(failed).error, status: codeNames.get(failed.status) },
});

/** Errors of injected faults; a lost reply has none. */
export type InjectedErrors = Readonly<Record<Exclude<FaultKind, "reply_lost">, RestError>>;

export const injected: InjectedErrors = {
  unavailable: new RestError(503, "backendError", "Service unavailable (injected)."),
  permission_denied: new RestError(403, "forbidden", "The caller does not have this permission (injected)."),
  resource_exhausted: new RestError(429, "rateLimitExceeded", "The rate limit was exceeded (injected)."),
};

export interface RestRequest {
  readonly verb: string;
  readonly url: URL;
  // biome-ignore lint/suspicious/noExplicitAny: each method has its own body type
  readonly body: any;
}

export interface RestMethod {
  /** Name for counts and faults. */
  readonly method: string;
  readonly act: () => object | Promise<object>;
}

export interface RestApi {
  /** Google's host, whose documents the requests must follow. */
  readonly host: string;
  readonly faults: Faults;
  /** Undefined if the path does not exist. */
  readonly route: (request: RestRequest) => RestMethod | undefined;
  /** Replaces the default errors if the API has its own reasons. */
  readonly injected?: InjectedErrors;
}

export interface RestServer {
  readonly origin: string;
  close(): void;
}

export const serveRest = async ({ host, faults, route, injected: errors = injected }: RestApi): Promise<RestServer> => {
  /** Undefined if the reply must be lost. */
  const answer = async (request: IncomingMessage): Promise<object | undefined> => {
    const { method: verb = "GET" } = request;
    const url = new URL(request.url ?? "/", "http://fake");
    const body = await text(request);
    recordRest({ host, verb, url, body });
    const found = route({ verb, url, body: body === "" ? {} : JSON.parse(body) });
    if (found === undefined) throw new RestError(404, "notFound", `no method at ${verb} ${url.pathname}`);
    const fault = faults.enter(found.method);
    if (fault !== undefined && fault !== "reply_lost") throw errors[fault];
    const done = await found.act();
    return fault === "reply_lost" ? undefined : done;
  };
  const server = createServer((request, response) => {
    const send = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json; charset=UTF-8" }).end(JSON.stringify(body));
    answer(request).then(
      (done) => (done === undefined ? response.destroy() : send(200, done)),
      (error: Error) => {
        const known = error instanceof RestError;
        const shown = known ? error : new RestError(500, "internalError", `the fake failed with a bug: ${error.stack}`);
        send(shown.status, errorBodyWithStatus(shown));
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

/** Sends no credentials, and redirects requests for Google's hosts to the given origins. */
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
