/** The OpenAPI 3.1 document, made from the table of endpoints and the schemas that check them. */
import { z } from "zod";
import { detailSchema } from "../../core/domain/answers.ts";
import { issueTypes } from "../../core/domain/issue.ts";
import { projectFields } from "../../core/domain/project-file.ts";
import { type Endpoint, endpoints } from "./endpoints/index.ts";

type Json = Record<string, unknown>;

const API_VERSION = "1.0.0";

/** A schema as it stands inside a document. What clients write is shown as it is meant, not as a form spells it. */
const schemaOf = (schema: z.ZodType): Json => {
  const { $schema: _dialect, ...made } = z.toJSONSchema(schema, {
    io: "output",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // Every integer has these bounds; they say nothing about the field.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  }) as Json;
  return made;
};

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

const problem = (description: string, schema: string): Json => ({
  description,
  content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } },
});

/** What any call may answer, and what only some can: those with a body, and those that name something. */
const problems = ({ kind, method, fields }: Endpoint): Json => ({
  "401": problem("Missing or invalid credential.", "Detail"),
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
  "429": problem("Too many requests of this account; see Retry-After.", "Detail"),
  "500": problem("A bug; the answer has the request's id.", "Detail"),
  "501": problem("This platform's provider does not offer it.", "Detail"),
  "503": problem("A backing service is unavailable; see Retry-After.", "Detail"),
});

const answers = (endpoint: Endpoint): Json => {
  if (endpoint.answer instanceof z.ZodNever) return problems(endpoint);
  const type = endpoint.kind === "deploy" || endpoint.kind === "resume" ? "application/x-ndjson" : "application/json";
  const description = type === "application/json" ? "Done." : "One record a line, as it happens.";
  return {
    "200": { description, content: { [type]: { schema: schemaOf(endpoint.answer) } } },
    ...problems(endpoint),
  };
};

const formBody = (endpoint: Endpoint): Json => {
  const made = fieldsSchema(endpoint.fields, requiredOf(endpoint.fields));
  const properties = {
    ...(made["properties"] as Json),
    source_archive: {
      type: "string",
      contentMediaType: "application/gzip",
      description: "The source as a tar.gz of at most 100 MiB; a deploy needs this or `source_object`.",
    },
  };
  return { required: true, content: { "multipart/form-data": { schema: { ...made, properties } } } };
};

const operation = (endpoint: Endpoint): Json => {
  const { summary, method, fields, path } = endpoint;
  const operationId = path.replace("/v1/", "").replace(/[/:]+/g, "_").replaceAll("-", "_");
  const base = { summary, operationId: `${method.toLowerCase()}_${operationId}`, responses: answers(endpoint) };
  if (endpoint.kind === "deploy" || endpoint.kind === "plan") return { ...base, requestBody: formBody(endpoint) };
  const required = requiredOf(fields);
  if (method === "POST") {
    if (Object.keys(fields).length === 0) return base;
    return {
      ...base,
      requestBody: { required: true, content: { "application/json": { schema: fieldsSchema(fields, required) } } },
    };
  }
  const parameters = Object.entries(fields).map(([name, schema]) => {
    const inPath = path.includes(`:${name}`);
    return {
      name,
      in: inPath ? "path" : "query",
      required: inPath || required.includes(name),
      schema: schemaOf(schema),
    };
  });
  return { ...base, parameters };
};

const pathOf = (path: string): string => path.replace(/:(\w+)/g, "{$1}");

const statusSchema: Json = { type: "object", properties: { status: { type: "string" } }, required: ["status"] };

/** The paths without credentials that a server has beside the API. */
const healthPaths: Json = Object.fromEntries(
  [
    ["/health", "The process is up."],
    ["/ready", "The backing services answer."],
  ].map(([path, summary]) => [
    path,
    {
      get: {
        summary,
        operationId: `get_${path?.slice(1)}`,
        security: [],
        responses: {
          "200": { description: summary, content: { "application/json": { schema: statusSchema } } },
          ...(path === "/ready"
            ? { "503": problem("A backing service does not answer; see Retry-After.", "Detail") }
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
  for (const endpoint of endpoints) {
    const path = pathOf(endpoint.path);
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Portside", version: API_VERSION, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: prefix === "" ? "/" : prefix }],
    paths: health ? { ...paths, ...healthPaths } : paths,
    components: {
      schemas: { Detail: schemaOf(detailSchema), ValidationError: validationError },
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
