/**
 * The AWS protocols on the loopback server, their error formats, and the client options for them.
 * https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html, .../aws-restjson1-protocol.html and
 * .../aws-query-protocol.html
 */
import { AwsError, type AwsMethod, type AwsReply, type AwsService, type InjectedErrors } from "./server.ts";
import { REGION } from "./test-config.ts";
import { printXml } from "./xml.ts";

// biome-ignore lint/suspicious/noExplicitAny: the input or result of any method
export type Message = any;

export type Methods = Readonly<Record<string, (input: Message) => Message | Promise<Message>>>;

const callOf = (methods: Methods, name: string, input: Message, done: (result: Message) => AwsReply): AwsMethod => {
  const act = Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (act === undefined) throw new AwsError("UnknownOperationException", `no method ${name}`);
  return { method: name, act: async () => done(await act(input)) };
};

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonErrors.html, common to the JSON services */
export const jsonErrors: InjectedErrors = {
  unavailable: new AwsError("ServiceUnavailableException", "Service unavailable (injected).", 503),
  permission_denied: new AwsError("AccessDeniedException", "You are not authorized (injected)."),
  resource_exhausted: new AwsError("ThrottlingException", "Rate exceeded (injected)."),
};

const json = { "content-type": "application/x-amz-json-1.1" };

/** AWS JSON 1.0 and 1.1, and REST-JSON: .../aws-restjson1-protocol.html#operation-error-serialization */
export const jsonFailed = ({ status, code, message, fields }: AwsError): AwsReply => ({
  status,
  headers: { ...json, "x-amzn-errortype": code },
  body: JSON.stringify({ __type: code, message, ...fields }),
});

export const jsonReply = (value: unknown = {}, status = 200): AwsReply => ({
  status,
  headers: json,
  body: JSON.stringify(value),
});

/**
 * `X-Amz-Target: SERVICE.METHOD`, JSON in and out.
 * @param service the SERVICE to accept; defaults to any
 */
export const jsonProtocol = (
  methods: Methods,
  { service, injected = jsonErrors }: { readonly service?: string; readonly injected?: InjectedErrors } = {},
): AwsService => ({
  route: ({ headers, body }) => {
    const [target, method = ""] = String(headers["x-amz-target"]).split(".");
    if (service !== undefined && target !== service) return undefined;
    return callOf(methods, method, JSON.parse(body.toString() || "{}"), jsonReply);
  },
  failed: jsonFailed,
  injected,
});

/** Parses `Conditions.member.1.Field=...` to objects and lists. */
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

/** Wraps the items of lists in `member` elements. */
const withMembers = (value: Message): Message => {
  if (Array.isArray(value)) return { member: value.map(withMembers) };
  if (typeof value !== "object" || value === null) return value ?? undefined;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withMembers(one)]));
};

const xml = { "content-type": "text/xml" };

/** Form-encoded in, XML out. */
export const queryProtocol = (methods: Methods): AwsService => ({
  route: ({ body }) => {
    const { Action, Version: _version, ...input } = nested(new URLSearchParams(body.toString()));
    return callOf(methods, Action, input, (result) => ({
      status: 200,
      headers: xml,
      body: printXml({ [`${Action}Response`]: { [`${Action}Result`]: withMembers(result ?? {}) } }),
    }));
  },
  failed: ({ code, message, status }) => ({
    status,
    headers: xml,
    body: printXml({ ErrorResponse: { Error: { Type: "Sender", Code: code, Message: message } } }),
  }),
  injected: {
    unavailable: new AwsError("ServiceUnavailable", "Service unavailable (injected).", 503),
    permission_denied: new AwsError("AccessDenied", "You are not authorized (injected).", 403),
    resource_exhausted: new AwsError("Throttling", "Rate exceeded (injected)."),
  },
});

/** Options for a client of a fake. */
export const clientOptions = (endpoint: string) => ({
  endpoint,
  region: REGION,
  credentials: { accessKeyId: "fake", secretAccessKey: "fake" },
  maxAttempts: 1,
});
