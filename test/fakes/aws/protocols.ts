/**
 * Servers of Amazon's protocols on loopback, how those say errors, and the options of clients that are to talk to them.
 * https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html and .../aws-query-protocol.html
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { FaultKind, Faults } from "../faults.ts";

export const REGION = "eu-west-1";
export const ACCOUNT = "123456789012";

// biome-ignore lint/suspicious/noExplicitAny: of whatever the method takes or gives
export type Message = any;

/** What a method throws: the code of an exception in the service's model, and its HTTP status. */
export class AwsError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export interface Call {
  /** For counts and faults. */
  readonly method: string;
  readonly act: () => Message | Promise<Message>;
}

type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
};

export interface Protocol {
  /** Throws an `AwsError` where there is no such method. */
  readonly route: (request: IncomingMessage, body: Buffer) => Call;
  readonly done: (call: Call, result: Message) => Answer;
  readonly failed: (error: AwsError) => Answer;
  readonly injected: Readonly<Record<Exclude<FaultKind, "reply_lost">, AwsError>>;
}

export interface AwsServer {
  readonly endpoint: string;
  close(): void;
}

export const serveAws = async (faults: Faults, protocol: Protocol): Promise<AwsServer> => {
  const send = (response: ServerResponse, { status, headers, body }: Answer) =>
    response.writeHead(status, { ...headers, "x-amzn-requestid": "fake" }).end(body);
  /** Undefined: the reply is lost. */
  const answer = async (request: IncomingMessage): Promise<Answer | undefined> => {
    const call = protocol.route(request, await buffer(request));
    const fault = faults.enter(call.method);
    if (fault !== undefined && fault !== "reply_lost") throw protocol.injected[fault];
    const result = await call.act();
    return fault === "reply_lost" ? undefined : protocol.done(call, result);
  };
  const server = createServer((request, response) => {
    answer(request).then(
      (done) => (done === undefined ? response.destroy() : send(response, done)),
      (error: Error) => {
        const known = error instanceof AwsError;
        send(
          response,
          protocol.failed(known ? error : new AwsError("FakeBug", `the fake met a bug: ${error.stack}`, 400)),
        );
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

export type Methods = Readonly<Record<string, (input: Message) => Message | Promise<Message>>>;

const callOf = (methods: Methods, name: string, input: Message): Call => {
  const act = methods[name];
  if (act === undefined) throw new AwsError("UnknownOperationException", `no method ${name}`);
  return { method: name, act: () => act(input) };
};

/** `X-Amz-Target: PREFIX.METHOD`, with JSON both ways. */
export const jsonProtocol = (methods: Methods): Protocol => ({
  route: ({ headers }, body) =>
    callOf(methods, String(headers["x-amz-target"]).split(".").at(-1) ?? "", JSON.parse(body.toString() || "{}")),
  done: (_, result) => ({
    status: 200,
    headers: { "content-type": "application/x-amz-json-1.1" },
    body: JSON.stringify(result ?? {}),
  }),
  failed: ({ code, message, status }) => ({
    status,
    headers: { "content-type": "application/x-amz-json-1.1" },
    body: JSON.stringify({ __type: code, message }),
  }),
  injected: {
    unavailable: new AwsError("ServiceUnavailableException", "Service unavailable (injected).", 503),
    permission_denied: new AwsError("AccessDeniedException", "You are not authorized (injected)."),
    resource_exhausted: new AwsError("ThrottlingException", "Rate exceeded (injected)."),
  },
});

/** `Conditions.member.1.Field=...` as objects and lists. */
const nested = (form: URLSearchParams): Message => {
  const root: Message = {};
  for (const [key, value] of form) {
    const path = key.split(".");
    let at = root;
    for (const [index, part] of path.entries()) {
      if (index === path.length - 1) at[part] = value;
      else at = at[part] ??= {};
    }
  }
  const listed = (value: Message): Message => {
    if (typeof value !== "object") return value;
    if (value.member !== undefined)
      return Object.entries(value.member)
        .sort(([a], [b]) => Number(a) - Number(b))
        .map(([, one]) => listed(one));
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, listed(one)]));
  };
  return listed(root);
};

export const escapeXml = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** Lists as `member`s; what is undefined is left out. */
export const toXml = (value: Message): string => {
  if (Array.isArray(value)) return value.map((one) => `<member>${toXml(one)}</member>`).join("");
  if (typeof value !== "object" || value === null) return escapeXml(String(value ?? ""));
  return Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([key, one]) => `<${key}>${toXml(one)}</${key}>`)
    .join("");
};

const xml = { "content-type": "text/xml" };

/** A form in, XML out. */
export const queryProtocol = (methods: Methods): Protocol => ({
  route: (_, body) => {
    const { Action, Version: _version, ...input } = nested(new URLSearchParams(body.toString()));
    return callOf(methods, Action, input);
  },
  done: ({ method }, result) => ({
    status: 200,
    headers: xml,
    body: `<${method}Response><${method}Result>${toXml(result ?? {})}</${method}Result></${method}Response>`,
  }),
  failed: ({ code, message, status }) => ({
    status,
    headers: xml,
    body: `<ErrorResponse><Error><Type>Sender</Type>${toXml({ Code: code, Message: message })}</Error></ErrorResponse>`,
  }),
  injected: {
    unavailable: new AwsError("ServiceUnavailable", "Service unavailable (injected).", 503),
    permission_denied: new AwsError("AccessDenied", "You are not authorized (injected).", 403),
    resource_exhausted: new AwsError("Throttling", "Rate exceeded (injected)."),
  },
});

/** What a client of a fake is made with. */
export const clientOptions = (endpoint: string) => ({
  endpoint,
  region: REGION,
  credentials: { accessKeyId: "fake", secretAccessKey: "fake" },
  maxAttempts: 1,
});
