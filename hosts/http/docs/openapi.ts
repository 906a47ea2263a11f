/** The OpenAPI 3.1 document, made from the table of endpoints and the schemas that check them. */
import { z } from "zod";
import { projectFields } from "../../../core/domain/deploy/project-file.ts";
import { issueTypes } from "../../../core/domain/wire/issue.ts";
import { detailSchema } from "../../../core/domain/wire/responses.ts";
import { type Endpoint, endpointGroups } from "../endpoints.ts";

type Json = Record<string, unknown>;

const API_VERSION = "1.0.0";

const ABOUT = `Deploy services from source, keep their files in volumes, and read their logs.

Every call under \`/v1\` needs a credential: an API key in \`X-API-Key\`, or a token in \`Authorization: Bearer\`. A call sees the
resources of its account only. Answers may gain fields within this version; clients ignore fields that they do not know.`;

/** A schema as it stands inside a document. What clients write is shown as it is meant, not as a form spells it. */
const schemaOf = (schema: z.ZodType, override: (jsonSchema: z.core.JSONSchema.BaseSchema) => void = () => {}): Json => {
  const { $schema: _dialect, ...made } = z.toJSONSchema(schema, {
    io: "output",
    unrepresentable: "any",
    override: ({ jsonSchema }) => override(jsonSchema),
  }) as Json;
  return made;
};

/** Answers may gain fields. Every integer has these bounds; they say nothing about a field that is only read. */
const answerSchemaOf = (schema: z.ZodType): Json =>
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

/** A field is required where leaving it out is refused. */
const requiredOf = (fields: Readonly<Record<string, z.ZodType>>): string[] =>
  Object.entries(fields)
    .filter(([, schema]) => !schema.safeParse(undefined).success)
    .map(([name]) => name);

const validationError: Json = {
  type: "object",
  properties: {
    detail: {
      type: "array",
      items: {
        type: "object",
        properties: {
          loc: { type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } },
          msg: { type: "string" },
          type: { type: "string", enum: [...issueTypes] },
        },
        required: ["loc", "msg", "type"],
      },
    },
  },
  required: ["detail"],
};

const headers = {
  "X-Request-Id": "The id of this request, also in the platform's log.",
  "WWW-Authenticate": "The ways to sign in.",
  "Retry-After": "Seconds after which the call may be repeated.",
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

/** What any call may answer, and what only some can: those with a body, and those that name something. */
const problems = ({ kind, method, fields }: Endpoint): Json => ({
  "401": problem("Missing or invalid credential.", "Detail", "WWW-Authenticate"),
  "403": problem("The account does not own the resource.", "Detail"),
  ...(method === "POST" || Object.keys(fields).length > 0
    ? { "404": problem("There is no such thing.", "Detail") }
    : {}),
  ...(method === "POST"
    ? {
        "409": problem("Refused in the resource's present state.", "Detail"),
        "415": problem("The endpoint takes another content type.", "Detail"),
      }
    : {}),
  ...(method === "POST" && kind === "json" ? { "413": problem("The body is over 1 MiB.", "Detail") } : {}),
  "422": problem("Every broken rule of the request.", "ValidationError"),
  "429": problem("Too many requests of this account; see Retry-After.", "Detail", "Retry-After"),
  "500": problem("A bug; the answer has the request's id.", "Detail"),
  "501": problem("This platform's provider does not offer it.", "Detail"),
  "503": problem("A backing service is unavailable; see Retry-After.", "Detail", "Retry-After"),
});

const answerHeaders = (endpoint: Endpoint): Json =>
  endpoint.kind === "json"
    ? Object.fromEntries(Object.entries(endpoint.headers ?? {}).map(([name, words]) => [name, headerOf(words)]))
    : {};

const answers = (endpoint: Endpoint): Json => {
  if (endpoint.answer instanceof z.ZodNever) return problems(endpoint);
  const type = endpoint.kind === "deploy" || endpoint.kind === "resume" ? "application/x-ndjson" : "application/json";
  const description = type === "application/json" ? "Done." : "One record a line, as it happens.";
  return {
    "200": {
      description,
      headers: { ...headersOf(), ...answerHeaders(endpoint) },
      content: { [type]: { schema: answerSchemaOf(endpoint.answer) } },
    },
    ...problems(endpoint),
  };
};

const formBody = (endpoint: Endpoint): Json => {
  const made = fieldsSchema(endpoint.fields, requiredOf(endpoint.fields));
  const properties = {
    ...(made["properties"] as Json),
    source_archive: {
      type: "string",
      // Generators know files by the word of OpenAPI 3.0.
      format: "binary",
      contentMediaType: "application/gzip",
      description: "The source as a tar.gz of at most 100 MiB; a deploy needs this or `source_object`.",
    },
  };
  const schema = { ...made, properties };
  return { required: true, content: { "multipart/form-data": { schema, example: deployExample } } };
};

/** Without the archive, which no example can hold. */
const deployExample = { function_name: "my-app", volumes: {} };

const jsonBody = ({ fields, needsOneOf = [] }: Endpoint): Json => {
  const required = requiredOf(fields);
  const made = fieldsSchema(fields, required);
  const shown = [...required, ...needsOneOf.slice(0, 1)];
  const properties = made["properties"] as Record<string, { examples?: readonly unknown[] }>;
  const example = Object.fromEntries(shown.map((name) => [name, properties[name]?.examples?.[0]]));
  const schema = needsOneOf.length === 0 ? made : { ...made, anyOf: needsOneOf.map((name) => ({ required: [name] })) };
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
    responses: answers(endpoint),
  };
  if (endpoint.kind === "deploy" || endpoint.kind === "plan") return { ...base, requestBody: formBody(endpoint) };
  const required = requiredOf(fields);
  if (method === "POST") {
    if (Object.keys(fields).length === 0) return base;
    return { ...base, requestBody: jsonBody(endpoint) };
  }
  const parameters = Object.entries(fields).map(([name, schema]) => {
    const inPath = path.includes(`:${name}`);
    const made = schemaOf(schema);
    return {
      name,
      in: inPath ? "path" : "query",
      description: made["description"],
      required: inPath || required.includes(name),
      schema: made,
    };
  });
  return { ...base, parameters };
};

const pathOf = (path: string): string => path.replace(/:(\w+)/g, "{$1}");

const statusSchema: Json = { type: "object", properties: { status: { type: "string" } }, required: ["status"] };

/** The paths without credentials that a server has beside the API. */
const healthGroup = { name: "Health", description: "For load balancers and monitoring; without a credential." };

const healthPaths: Json = Object.fromEntries(
  [
    ["/health", "The process is up.", "Asks nobody else, so it answers while a backing service is down."],
    ["/ready", "The backing services answer.", "What was found is kept for 10 seconds."],
  ].map(([path, summary, description]) => [
    path,
    {
      get: {
        tags: [healthGroup.name],
        summary,
        description,
        operationId: `get_${path?.slice(1)}`,
        security: [],
        responses: {
          "200": {
            description: summary,
            headers: headersOf(),
            content: { "application/json": { schema: statusSchema } },
          },
          "4XX": problem("The request cannot be read.", "Detail"),
          ...(path === "/ready"
            ? { "503": problem("A backing service does not answer; see Retry-After.", "Detail", "Retry-After") }
            : {}),
        },
      },
    },
  ]),
);

export interface OpenApiOptions {
  /** The path under which the API is served, where it is not the root. */
  readonly prefix?: string;
  /** Whether `/health` and `/ready` are served as well. */
  readonly health?: boolean;
}

export const openApiDocument = ({ prefix = "", health = false }: OpenApiOptions = {}): Json => {
  const paths: Record<string, Json> = {};
  for (const { name, endpoints } of endpointGroups)
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
    tags: [...endpointGroups, ...(health ? [healthGroup] : [])].map(({ name, description }) => ({ name, description })),
    paths: health ? { ...paths, ...healthPaths } : paths,
    components: {
      schemas: { Detail: answerSchemaOf(detailSchema), ValidationError: validationError },
      headers: Object.fromEntries(Object.entries(headers).map(([name, words]) => [name, headerOf(words)])),
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
      },
    },
    security: [{ apiKey: [] }, { bearer: [] }],
  };
};

/** The JSON Schema of `portside.json`, for editors. */
export const projectSchema = (): Json => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "portside.json",
  ...fieldsSchema(projectFields, requiredOf(projectFields)),
});
