/** Generates the page of the HTTP API from the table of endpoints and the OpenAPI document. */

import { openApiDocument } from "../../hosts/http/docs/openapi.ts";
import { type Endpoint, endpointGroups, endpoints } from "../../hosts/http/endpoints.ts";
import { curlOf, exampleValues } from "./api-example.ts";
import { type Schema, shapeOf } from "./json-shape.ts";
import { GENERATED, table } from "./markdown.ts";

interface Body {
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly summary: string;
  readonly description: string;
  readonly requestBody?: Body;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly responses: Readonly<Record<string, Body & { readonly description: string }>>;
}

const { paths } = openApiDocument() as { paths: Record<string, Record<string, Operation>> };

const operationOf = ({ path, method }: Endpoint): Operation =>
  paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()] as Operation;

/** The only entry of a body: its content type and its schema. */
const contentOf = (body: Body | undefined): [string, Schema] | undefined => {
  const [entry] = Object.entries(body?.content ?? {});
  return entry === undefined ? undefined : [entry[0], entry[1].schema];
};

interface Fields {
  readonly place: string;
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
}

const fieldsOf = ({ requestBody, parameters = [] }: Operation): Fields => {
  const body = contentOf(requestBody);
  if (body !== undefined)
    return { place: body[0], schemas: body[1].properties ?? {}, required: body[1].required ?? [] };
  return {
    place: [...new Set(parameters.map((one) => one.in))].join(" and "),
    schemas: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    required: parameters.filter((one) => one.required).map(({ name }) => name),
  };
};

const inTable = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ").replace(/ {2,}/g, " ");
const inText = (text: string): string => inTable(text).replaceAll(/<(?![^`]*`[^`]*$)/g, "&lt;");
const code = (value: unknown): string => `\`${inTable(typeof value === "string" ? value : JSON.stringify(value))}\``;

const needed = (schema: Schema, required: boolean): string => {
  if (required) return "yes";
  return schema.default === undefined || schema.default === "" ? "no" : `no: ${code(schema.default)}`;
};

export const fieldRow = (name: string, schema: Schema, required: boolean): string[] => {
  const { examples = [], description = "" } = { ...schema.anyOf?.[0]?.anyOf?.[0], ...schema.anyOf?.[0], ...schema };
  const such = examples.length === 0 ? "" : ` Example: ${examples.map(code).join(", ")}.`;
  return [code(name), code(shapeOf(schema, " ")), needed(schema, required), `${inText(description)}${such}`];
};

const fieldsTable = ({ place, schemas, required }: Fields): string => {
  const rows = Object.entries(schemas).map(([name, schema]) => fieldRow(name, schema, required.includes(name)));
  if (rows.length === 0) return "No fields.\n\n";
  return `Fields, in the ${place.includes("/") ? `body (\`${place}\`)` : place}:\n\n${table(["field", "type", "required", "meaning"], rows)}\n\n`;
};

/** An earlier endpoint with the same fields. */
const sameFieldsAs = ({ fields }: Endpoint): Endpoint | undefined =>
  Object.keys(fields).length > 1 ? endpoints.find((one) => one.fields === fields) : undefined;

const takes = (endpoint: Endpoint, fields: Fields): string => {
  const same = sameFieldsAs(endpoint);
  return same === undefined || same === endpoint
    ? fieldsTable(fields)
    : `The same fields as \`${same.method} ${same.path}\`${endpoint.kind === "plan" ? "; the source is optional" : ""}.\n\n`;
};

const section = (endpoint: Endpoint): string => {
  const operation = operationOf(endpoint);
  const fields = fieldsOf(operation);
  const { "200": done, ...refusals } = operation.responses;
  const answer = contentOf(done);
  const [type, schema] = answer ?? ["", {}];
  const values = exampleValues(endpoint.path, fields.schemas, fields.required);
  return `### ${endpoint.method} ${endpoint.path}

${operation.summary} ${operation.description}

Method of \`portside/client\`: \`${endpoint.operation}\`.

${takes(endpoint, fields)}\`\`\`console
$ ${curlOf(endpoint, values)}
\`\`\`

Response: 200, \`${type}\`${type === "application/x-ndjson" ? ", on each line" : ""}:

\`\`\`text
${shapeOf(schema)}
\`\`\`

Errors: ${Object.keys(refusals).join(", ")}.
`;
};

const group = ({ name, description, endpoints: own }: (typeof endpointGroups)[number]): string =>
  `## ${name}\n\n${description}\n\n${own.map(section).join("\n")}`;

const refusals = (): string[][] => {
  const all = endpoints.flatMap((one) => Object.entries(operationOf(one).responses));
  const words = new Map(all.map(([status, { description }]) => [status, description]));
  return [...words].filter(([status]) => status !== "200").sort(([a], [b]) => Number(a) - Number(b));
};

export const apiPage = (): string => `# HTTP API

${GENERATED}

Every endpoint requires an API key in \`X-API-Key\`, or a bearer token in \`Authorization\`. \`portside keys create\` creates a key.
\`portside token\`, or an issuer that the platform trusts, creates a token. These paths require no credential: \`GET /health\`,
\`GET /ready\`, \`GET /openapi.json\`, \`GET /docs\` and \`GET /schema/portside.json\`.

Request bodies are JSON, except the form of a deploy. A request with an unknown field in its body fails with 422; unknown query
parameters are ignored. Every response has an \`X-Request-Id\`: the request's own id if it is valid, otherwise a new one. In the types
below, \`?\` marks an optional field, and a \`date-time\` is an RFC 3339 string. A platform publishes its OpenAPI 3.1 document at
\`/openapi.json\`, and browsable documentation at \`/docs\`. [\`portside/client\`](../guides/embedding.md#a-client-of-the-api) is a
typed client.

| status | meaning |
| --- | --- |
${refusals()
  .map(([status, words]) => `| ${status} | ${words} |`)
  .join("\n")}

The body of an error is \`{"detail": …}\`. \`detail\` is a message; for a 422, it is a list of all broken rules. [errors.md](errors.md) lists
the errors and the reasons of failed deploys, with a remedy for each.

${endpointGroups.map(group).join("\n")}`;
