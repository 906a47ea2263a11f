/**
 * Services of Amazon's JSON protocols, JSON 1.1 by its target and REST-JSON by its path, as one route of methods:
 * https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html and .../aws-restjson1-protocol.html
 */
import type { FaultKind, Faults } from "../faults.ts";
import { AwsError, type AwsServer, type Message, serveAws } from "./protocols.ts";

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
  readonly body: Message;
}

export interface AwsMethod {
  /** For counts and faults. */
  readonly method: string;
  readonly act: () => object | Promise<object>;
}

export interface JsonApi {
  readonly faults: Faults;
  /** Undefined: there is no such method. */
  readonly route: (request: AwsRequest) => AwsMethod | undefined;
  /** Where the service has names of its own. */
  readonly injected?: InjectedErrors;
}

const type = { "content-type": "application/x-amz-json-1.1" };

export const serveJson = ({ faults, route, injected: errors = injected }: JsonApi): Promise<AwsServer> =>
  serveAws(faults, {
    route: ({ method = "GET", url = "/", headers }, body) => {
      const request = {
        verb: method,
        url: new URL(url, "http://fake"),
        target: String(headers["x-amz-target"] ?? ""),
        body: body.length === 0 ? {} : JSON.parse(body.toString()),
      };
      const found = route(request);
      if (found !== undefined) return found;
      throw new AwsError("UnknownOperationException", `no method ${request.target} at ${request.url.pathname}`, 404);
    },
    done: (_, result) => ({ status: 200, headers: type, body: JSON.stringify(result) }),
    failed: ({ code, message, status }) => ({
      status,
      headers: { ...type, "x-amzn-errortype": code },
      body: JSON.stringify({ __type: code, message, Message: message }),
    }),
    injected: errors,
  });

/** A service of the JSON 1.1 protocol by its methods. */
export const jsonRoute =
  (
    service: string,
    methods: Readonly<Record<string, (input: Message) => object | Promise<object>>>,
  ): JsonApi["route"] =>
  ({ target, body }) => {
    const [name, method = ""] = target.split(".");
    const act = name === service && Object.hasOwn(methods, method) ? methods[method] : undefined;
    return act === undefined ? undefined : { method, act: () => act(body) };
  };
