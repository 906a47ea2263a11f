/** Builds the OpenAPI 3.1 document from the table of endpoints and their schemas. */
import { z } from "zod";
import { projectFields } from "../../../core/domain/deploy/project-file.ts";
import { issueTypes } from "../../../core/domain/wire/issue.ts";
import { detailSchema } from "../../../core/domain/wire/responses.ts";
import { type Endpoint, endpointGroups, isOfConsole, isStream, needsCredential, takesForm } from "../endpoints.ts";

type Json = Record<string, unknown>;

const API_VERSION = "1.0.0";

const ABOUT = `Deploy services from source, keep their files in volumes, and read their logs.

Every call under \`/v1\` except the sign-in to the console needs a credential: an API key in \`X-API-Key\`, a token in
\`Authorization: Bearer\`, or a session of the console. A call can access only the resources of its account. Responses may gain fields within this version, so clients must ignore unknown fields.`;

/** Uses a schema's output type, because zod cannot describe the input of a preprocessed field. */
const schemaOf = (schema: z.ZodType, override: (jsonSchema: z.core.JSONSchema.BaseSchema) => void = () => {}): Json => {
  const { $schema: _dialect, ...document } = z.toJSONSchema(schema, {
    io: "output",
    unrepresentable: "any",
    override: ({ jsonSchema }) => override(jsonSchema),
  }) as Json;
  return document;
};

/** Returns the schema of a response. It allows additional fields, and omits the default bounds of integers. */
const responseSchemaOf = (schema: z.ZodType): Json =>
  schemaOf(schema, (jsonSchema) => {
    if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  });

const fieldsSchema = (fields: Readonly<Record<string, z.ZodType>>, required: readonly string[]): Json => ({
  type: "object",
  properties: Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, schemaOf(schema)])),
  required: [...required],
  additionalProperties: false,
});

const requiredOf = (fields: Readonly<Record<string, z.ZodType>>): string[] =>
  Object.entries(fields)
    .filter(([, schema]) => !schema.safeParse(undefined).success)
    .map(([name]) => name);

const issueSchema: Json = {
  type: "object",
  properties: {
    loc: { type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } },
    msg: { type: "string" },
    type: { type: "string", enum: [...issueTypes] },
  },
  required: ["loc", "msg", "type"],
};

const validationError: Json = {
  type: "object",
  properties: { detail: { type: "array", items: issueSchema } },
  required: ["detail"],
};

const headers = {
  "X-Request-Id": "The id of this request, which the platform also logs.",
  "WWW-Authenticate": "The supported authentication schemes.",
  "Retry-After": "Seconds to wait before the next attempt.",
} as const;

type HeaderName = keyof typeof headers;

const headerOf = (description: string): Json => ({ description, schema: { type: "string" } });

const headersOf = (...names: readonly HeaderName[]): Json =>
  Object.fromEntries(["X-Request-Id", ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const problem = (description: string, schema: string, ...more: readonly HeaderName[]): Json => ({
  description,
  headers: headersOf(...more),
  content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } },
});

/** The error responses of an endpoint. Some apply only to requests with a body or with fields. */
const errorResponses = (endpoint: Endpoint): Json => {
  const { method, fields } = endpoint;
  return {
    "401": problem("Missing or invalid credential.", "Detail", "WWW-Authenticate"),
    "403": problem("The account does not own the resource, or the credential does not permit the request.", "Detail"),
    ...(method === "POST" || Object.keys(fields).length > 0
      ? { "404": problem("The resource does not exist.", "Detail") }
      : {}),
    ...(method === "POST"
      ? {
          "409": problem("The state of the resource does not permit the operation.", "Detail"),
          "415": problem("The endpoint does not support the content type.", "Detail"),
        }
      : {}),
    ...(method === "POST" && !takesForm(endpoint)
      ? { "413": problem("The body is larger than 1 MiB.", "Detail") }
      : {}),
    "422": problem("The request is invalid. The response lists every issue.", "ValidationError"),
    "429": problem(
      "The request exceeds a rate limit or a limit on concurrent calls. See Retry-After.",
      "Detail",
      "Retry-After",
    ),
    "500": problem("An internal error. The response contains the request id.", "Detail"),
    "501": problem("The platform's provider does not support the feature.", "Detail"),
    "503": problem("A backing service is unavailable. See Retry-After.", "Detail", "Retry-After"),
  };
};

const responseHeaders = (endpoint: Endpoint): Json =>
  endpoint.kind === "json"
    ? Object.fromEntries(Object.entries(endpoint.headers ?? {}).map(([name, text]) => [name, headerOf(text)]))
    : {};

const success = (schema: z.ZodType, headers: Json = {}): Json => ({
  description: "Success.",
  headers: { ...headersOf(), ...headers },
  content: { "application/json": { schema: responseSchemaOf(schema) } },
});

const stream = (schema: z.ZodType): Json => ({
  description: "A stream of records, one per line.",
  headers: headersOf(),
  content: { "application/x-ndjson": { schema: responseSchemaOf(schema) } },
});

const responses = (endpoint: Endpoint): Json => ({
  "200": isStream(endpoint) ? stream(endpoint.response) : success(endpoint.response, responseHeaders(endpoint)),
  ...errorResponses(endpoint),
});

const formBody = (endpoint: Endpoint): Json => {
  const fields = fieldsSchema(endpoint.fields, requiredOf(endpoint.fields));
  const properties = {
    ...(fields["properties"] as Json),
    source_archive: {
      type: "string",
      // A keyword of OpenAPI 3.0. Client generators use it to recognize files.
      format: "binary",
      contentMediaType: "application/gzip",
      description: "The source as a tar.gz of at most 100 MiB. A deploy needs either this file or `source_object`.",
    },
  };
  const schema = { ...fields, properties };
  return { required: true, content: { "multipart/form-data": { schema, example: deployExample } } };
};

/** An example without the archive, because an example cannot contain binary data. */
const deployExample = { function_name: "my-app", volumes: {} };

const jsonBody = ({ fields, needsOneOf = [] }: Endpoint): Json => {
  const required = requiredOf(fields);
  const base = fieldsSchema(fields, required);
  const shown = [...required, ...needsOneOf.slice(0, 1)];
  const properties = base["properties"] as Record<string, { examples?: readonly unknown[] }>;
  const example = Object.fromEntries(shown.map((name) => [name, properties[name]?.examples?.[0]]));
  const schema = needsOneOf.length === 0 ? base : { ...base, anyOf: needsOneOf.map((name) => ({ required: [name] })) };
  return { required: true, content: { "application/json": { schema, example } } };
};

const operation = (endpoint: Endpoint, tag: string): Json => {
  const { summary, description, method, fields, path } = endpoint;
  const operationId = path.replace("/v1/", "").replace(/[/:]+/g, "_").replaceAll("-", "_");
  const base = {
    tags: [tag],
    summary,
    description,
    operationId: `${method.toLowerCase()}_${operationId}`,
    ...(needsCredential(endpoint) ? {} : { security: [] }),
    responses: responses(endpoint),
  };
  if (takesForm(endpoint)) return { ...base, requestBody: formBody(endpoint) };
  if (method === "POST") return Object.keys(fields).length === 0 ? base : { ...base, requestBody: jsonBody(endpoint) };
  const required = requiredOf(fields);
  const parameters = Object.entries(fields).map(([name, schema]) => {
    const inPath = path.includes(`:${name}`);
    const jsonSchema = schemaOf(schema);
    return {
      name,
      in: inPath ? "path" : "query",
      description: jsonSchema["description"],
      required: inPath || required.includes(name),
      schema: jsonSchema,
    };
  });
  return { ...base, parameters };
};

const pathOf = (path: string): string => path.replace(/:(\w+)/g, "{$1}");

const healthGroup = { name: "Health", description: "For load balancers and monitoring. No credential is needed." };

const healthOperation = (name: string, summary: string, description: string, errors: Json = {}): Json => ({
  get: {
    tags: [healthGroup.name],
    summary,
    description,
    operationId: `get_${name}`,
    security: [],
    responses: {
      "200": success(z.object({ status: z.string() })),
      "4XX": problem("The request is invalid.", "Detail"),
      ...errors,
    },
  },
});

const healthPaths: Json = {
  "/health": healthOperation(
    "health",
    "Check that the process is up.",
    "Does not call backing services, so it succeeds while one is down.",
  ),
  "/ready": healthOperation(
    "ready",
    "Check that the backing services respond.",
    "The server checks them at most every 10 seconds.",
    { "503": problem("A backing service does not respond. See Retry-After.", "Detail", "Retry-After") },
  ),
};

export interface OpenApiOptions {
  /** The path prefix of the API. Defaults to the root. */
  readonly prefix?: string;
  /** Includes `/health` and `/ready`. Defaults to false. */
  readonly health?: boolean;
  /** Includes the endpoints of the console. Defaults to true. */
  readonly console?: boolean;
}

export const openApiDocument = ({ prefix = "", health = false, console = true }: OpenApiOptions = {}): Json => {
  const paths: Record<string, Json> = {};
  const groups = endpointGroups.filter(({ endpoints }) => console || !endpoints.some(isOfConsole));
  for (const { name, endpoints } of groups)
    for (const endpoint of endpoints) {
      const path = pathOf(endpoint.path);
      paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operation(endpoint, name) };
    }
  return {
    openapi: "3.1.0",
    info: {
      title: "Portside",
      version: API_VERSION,
      description: ABOUT,
      contact: { name: "The operator of this platform" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: prefix === "" ? "/" : prefix }],
    tags: [...groups, ...(health ? [healthGroup] : [])].map(({ name, description }) => ({ name, description })),
    paths: health ? { ...paths, ...healthPaths } : paths,
    components: {
      schemas: { Detail: responseSchemaOf(detailSchema), ValidationError: validationError },
      headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, headerOf(text)])),
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        sessionCookie: {
          type: "apiKey",
          in: "cookie",
          name: "portside_session",
          description: "Over HTTPS, the name is `__Host-portside_session`.",
        },
        sessionToken: { type: "apiKey", in: "header", name: "X-Portside-Console" },
      },
    },
    security: [{ apiKey: [] }, { bearer: [] }, { sessionCookie: [], sessionToken: [] }],
  };
};

/** The JSON Schema of `portside.json`, for editors. */
export const projectSchema = (): Json => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "portside.json",
  ...fieldsSchema(projectFields, requiredOf(projectFields)),
});
