/** Checks a REST request against the discovery documents. Pure. */
import type { Api, Digest, Method, Parameter, Schema } from "./digest.ts";

export interface SentRequest {
  /** Google's host, such as `storage.googleapis.com`. */
  readonly host: string;
  readonly verb: string;
  readonly url: URL;
  readonly contentType?: string | undefined;
  readonly body?: string | Uint8Array | undefined;
}

export interface Checked {
  /** The method's id and path template, or the verb and path if no method matches. */
  readonly method: string;
  readonly problems: readonly string[];
}

/** A parameter such as `{name}` matches one segment, or its part before a custom verb such as `:signBlob`. */
const patternOf = (template: string): RegExp => {
  const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const parts = template.split(/\{[^}]+\}/).map(literal);
  return new RegExp(`^${parts.join("([^/]+)")}$`);
};

const patterns = new Map<string, RegExp>();
const matches = (template: string, path: string): boolean => {
  const pattern = patterns.get(template) ?? patternOf(template);
  patterns.set(template, pattern);
  return pattern.test(path);
};

interface Found {
  readonly api: Api;
  readonly method: Method;
  readonly template: string;
}

/** The method with the most literal path: `{name}` also matches a name with a custom verb. */
const methodOf = (apis: readonly Api[], verb: string, path: string): Found | undefined => {
  const found = apis.flatMap((api) =>
    api.methods
      .filter((method) => method.verb === verb)
      .flatMap((method) =>
        [method.path, method.upload]
          .filter((template) => template !== undefined && matches(template, path))
          .map((template) => ({ api, method, template: template as string })),
      ),
  );
  const literal = ({ template }: Found) => template.replaceAll(/\{[^}]+\}/g, "").length;
  return found.toSorted((a, b) => literal(b) - literal(a))[0];
};

const isInteger = (text: string): boolean => /^-?\d+$/.test(text);

const parameterProblem = (name: string, { type, format, enum: allowed }: Parameter, value: string) => {
  if (allowed !== undefined && !allowed.includes(value)) return `query ${name}: '${value}' is not in the enum`;
  const isNumeric = type === "integer" || format === "int64" || format === "uint64";
  if (isNumeric && !isInteger(value)) return `query ${name}: '${value}' is not an integer`;
  if (type === "boolean" && value !== "true" && value !== "false") return `query ${name}: '${value}' is not a boolean`;
  return undefined;
};

const selectorProblems = (api: Api, schema: Schema | undefined, selector: string, at: string): string[] => {
  const resolved = resolve(api, schema ?? {});
  return topLevel(selector).flatMap((one) => {
    const [, name = "", inner] = /^([^(]+)(?:\((.*)\))?$/.exec(one) ?? [];
    const [first = "", ...rest] = name.split("/");
    if (first === "*") return [];
    const target = resolve(api, resolved.type === "array" ? (resolved.items ?? {}) : resolved);
    const field = target.properties?.[first] ?? target.additionalProperties;
    if (field === undefined) return [`query fields: ${at}${first}: unknown field`];
    const within = inner ?? rest.join("/");
    return within === "" ? [] : selectorProblems(api, field, within, `${at}${first}.`);
  });
};

/** Splits at commas outside parentheses. */
const topLevel = (selector: string): string[] => {
  const parts: string[] = [""];
  let depth = 0;
  for (const char of selector) {
    if (char === "(") depth++;
    if (char === ")") depth--;
    if (char === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts;
};

/**
 * `upload_id` belongs to the session's URL (https://docs.cloud.google.com/storage/docs/resumable-uploads). `alt=media`
 * downloads an object (https://docs.cloud.google.com/storage/docs/json_api/v1/objects/get).
 */
const queryProblems = ({ api, method, template }: Found, query: URLSearchParams): string[] => {
  const names = [...new Set(query.keys())];
  const problems = names.flatMap((name) => {
    const values = query.getAll(name);
    if (name === "alt" && values[0] === "media")
      return method.isDownload ? [] : ["query alt: the method downloads no media"];
    const known = method.query[name] ?? api.query[name];
    if (known === undefined) return [`query ${name}: unknown parameter`];
    if (values.length > 1 && !known.repeated) return [`query ${name}: given ${values.length} times`];
    if (name === "fields") return selectorProblems(api, { $ref: method.response ?? "" }, values[0] ?? "", "");
    if (name === "uploadType") return uploadProblems(method, template, values[0] ?? "");
    return values.map((value) => parameterProblem(name, known, value)).filter((problem) => problem !== undefined);
  });
  const missing = Object.entries(method.query).filter(([name, { required }]) => required && !query.has(name));
  const upload = template === method.upload && !query.has("uploadType") ? ["query uploadType: missing"] : [];
  return [...problems, ...missing.map(([name]) => `query ${name}: missing`), ...upload];
};

const uploadProblems = (method: Method, template: string, type: string): string[] =>
  template === method.upload && ["media", "multipart", "resumable"].includes(type)
    ? []
    : [`query uploadType: '${type}' does not fit the path`];

const resolve = (api: Api, schema: Schema): Schema =>
  schema.$ref === undefined ? schema : (api.schemas[schema.$ref] ?? {});

interface Context {
  readonly api: Api;
  readonly method: Method;
}

const typeProblem = ({ type, format, enum: allowed }: Schema, value: unknown): string | undefined => {
  const actual = typeof value;
  if (allowed !== undefined && !allowed.includes(value as string)) return `'${String(value)}' is not in the enum`;
  switch (type) {
    case "string":
      // "Either numbers or strings are accepted": https://protobuf.dev/programming-guides/json/
      if (actual === "number" && (format === "int64" || format === "uint64")) return undefined;
      return actual === "string" ? undefined : `${actual} instead of a string`;
    case "integer":
      return Number.isInteger(value) || (actual === "string" && isInteger(value as string))
        ? undefined
        : `${String(value)} instead of an integer`;
    case "number":
      return actual === "number" ? undefined : `${actual} instead of a number`;
    case "boolean":
      return actual === "boolean" ? undefined : `${actual} instead of a boolean`;
    default:
      return undefined;
  }
};

const requires = ({ method }: Context, { required }: Schema): boolean =>
  required === true ? method.verb !== "PATCH" : (required?.includes(method.id) ?? false);

const valueProblems = (context: Context, given: Schema, value: unknown, at: string): string[] => {
  const schema = resolve(context.api, given);
  const { items, properties, additionalProperties, type } = schema;
  // A patch deletes a field or a label with null: https://www.rfc-editor.org/rfc/rfc7396
  if (value === null) return context.method.verb === "PATCH" ? [] : [`${at}: null`];
  if (type === "array") {
    if (!Array.isArray(value)) return [`${at}: ${typeof value} instead of an array`];
    return value.flatMap((one, index) => valueProblems(context, items ?? {}, one, `${at}[${index}]`));
  }
  if (properties === undefined && additionalProperties === undefined) {
    const problem = typeProblem(schema, value);
    return problem === undefined ? [] : [`${at}: ${problem}`];
  }
  if (typeof value !== "object" || Array.isArray(value)) return [`${at}: not an object`];
  const fields = value as Readonly<Record<string, unknown>>;
  const written = Object.entries(fields).flatMap(([name, inner]) => {
    const path = `${at}.${name}`;
    const field = properties?.[name] ?? additionalProperties;
    if (field === undefined) return [`${path}: unknown field`];
    if (field.readOnly) return [`${path}: output-only field`];
    return valueProblems(context, field, inner, path);
  });
  const missing = Object.entries(properties ?? {})
    .filter(([name, field]) => requires(context, field) && fields[name] === undefined)
    .map(([name]) => `${at}.${name}: missing required field`);
  return [...written, ...missing];
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The JSON of the body; undefined if it has none. https://www.rfc-editor.org/rfc/rfc2387 */
const jsonOf = ({ url, contentType = "", body = "" }: SentRequest): unknown => {
  const text = typeof body === "string" ? body : Buffer.from(body).toString("latin1");
  if (url.searchParams.get("uploadType") !== "multipart") return text === "" ? undefined : parsed(utf8(text));
  const boundary = /boundary="?([^";]+)"?/.exec(contentType)?.[1] ?? "";
  const part = text.split(`--${boundary}`)[1] ?? "";
  return parsed(utf8(part.slice(part.indexOf("\r\n\r\n") + 4)));
};

const utf8 = (latin1: string): string => Buffer.from(latin1, "latin1").toString();

const bodyProblems = (found: Found, request: SentRequest): string[] => {
  const { api, method } = found;
  const { url, body } = request;
  if (url.searchParams.get("uploadType") === "media") return [];
  const isEmpty = body === undefined || body.length === 0;
  if (method.request === undefined) return isEmpty ? [] : ["body: the method has none"];
  const json = jsonOf(request);
  if (json === undefined && !isEmpty) return ["body: not JSON"];
  return valueProblems({ api, method }, { $ref: method.request }, json ?? {}, "body");
};

/** The session of a resumable upload: its URL comes from Google, and its body is the object. */
const isSession = (verb: string, { pathname, searchParams }: URL): boolean =>
  pathname.startsWith("/upload/") && searchParams.has("upload_id") && (verb === "PUT" || verb === "DELETE");

export const checkRest = ({ hosts }: Digest, request: SentRequest): Checked => {
  const { host, verb, url } = request;
  const apis = hosts[host] ?? [];
  const session = isSession(verb, url);
  const found = methodOf(apis, session ? "POST" : verb, url.pathname);
  if (found === undefined)
    return { method: `${verb} ${host}${url.pathname}`, problems: ["no method has this verb and path"] };
  const { method, template } = found;
  const name = `${method.id} ${verb} ${template}`;
  if (session) return { method: `${name} (session)`, problems: [] };
  return { method: name, problems: [...queryProblems(found, url.searchParams), ...bodyProblems(found, request)] };
};
