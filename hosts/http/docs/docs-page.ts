/**
 * The page at `/docs`: the OpenAPI document as plain HTML. It has no scripts and loads no resources, so it works under
 * a strict content security policy of the application, such as @fastify/helmet's.
 */
import type { z } from "zod";
import { quoteForShell } from "../../../core/domain/deploy/source/quote-for-shell.ts";
import { Html, html } from "./html.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;
type Bounds = "minimum" | "maximum" | "minLength" | "maxLength" | "pattern" | "required";

interface Schema
  extends Pick<JsonSchema, Bounds | "type" | "format" | "enum" | "description" | "default" | "examples"> {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

type Content = Readonly<
  Record<string, { readonly schema: Schema; readonly example?: Readonly<Record<string, unknown>> }>
>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  readonly security?: readonly unknown[];
}

/** The parts of an OpenAPI document that the page shows. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

interface Call extends Operation {
  readonly method: string;
  readonly path: string;
}

const nothing = html``;

/** Renders text, with the parts between backticks as code. */
const prose = (text: string): Html =>
  html`${text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`;

/** Unwraps a nullable schema, which is an `anyOf` of one schema and null. Returns other schemas unchanged. */
const withoutNull = (schema: Schema): Schema => {
  const [only, ...others] = (schema.anyOf ?? []).filter(({ type }) => type !== "null");
  return only !== undefined && others.length === 0 ? { ...only, ...schema, anyOf: [] } : schema;
};

const typeOf = (schema: Schema): string => {
  const { type, format, items, anyOf, additionalProperties } = schema;
  if (anyOf !== undefined && anyOf.length > 0) return anyOf.map(typeOf).join(" or ");
  if (type === "array" && items !== undefined) return `array of ${typeOf(items)}`;
  if (type === "object" && typeof additionalProperties === "object") return `object of ${typeOf(additionalProperties)}`;
  const name = typeof type === "string" || type === undefined ? (type ?? "any") : type.join(" or ");
  return format === undefined ? name : `${name} (${format})`;
};

const isBound = (bound: number | undefined): bound is number =>
  bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;

const range = (min: number | undefined, max: number | undefined, unit: string): string[] => {
  if (isBound(min) && isBound(max)) return [`${min} to ${max}${unit}`];
  if (isBound(max)) return [`at most ${max}${unit}`];
  return isBound(min) && min > 0 ? [`at least ${min}${unit}`] : [];
};

const rulesOf = ({ enum: values, default: initial, pattern, ...bounds }: Schema): Html[] => {
  const items = values?.map((value, index) => html`${index === 0 ? "" : ", "}<code>${String(value)}</code>`);
  const rules = [
    ...(items === undefined ? [] : [html`one of ${items}`]),
    ...range(bounds.minimum, bounds.maximum, "").map((text) => html`${text}`),
    ...range(bounds.minLength, bounds.maxLength, " characters").map((text) => html`${text}`),
    ...(pattern === undefined ? [] : [html`matches <code>${pattern}</code>`]),
    ...(initial === undefined || initial === "" ? [] : [html`default <code>${JSON.stringify(initial)}</code>`]),
  ];
  return rules.map((rule) => html`<span class="rule">${rule}</span>`);
};

/** Flattens the fields of a schema, with paths as names: `last_deploy.status`, `logs[].message`. */
const fieldsOf = (schema: Schema, prefix = ""): Field[] => {
  const { properties = {}, items, required = [] } = withoutNull(schema);
  if (items !== undefined) return fieldsOf(items, `${prefix}[]`);
  return Object.entries(properties).flatMap(([name, given]) => {
    const own = withoutNull(given);
    const path = prefix === "" ? name : `${prefix}.${name}`;
    return [{ name: path, required: required.includes(name), schema: own }, ...fieldsOf(own, path)];
  });
};

const fieldTable = (fields: readonly Field[], needs: boolean): Html =>
  html`<table><tbody>${fields.map(
    ({ name, required, schema }) => html`<tr>
<td><code>${name}</code>${needs && required ? html` <b>required</b>` : nothing}</td>
<td>${typeOf(schema)}</td>
<td>${prose(schema.description ?? "")} ${rulesOf(schema)}</td>
</tr>`,
  )}</tbody></table>`;

const inputOf = ({ parameters = [], requestBody }: Call): Field[] => [
  ...parameters.map(({ name, required = false, schema }) => ({ name, required, schema: withoutNull(schema) })),
  ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => fieldsOf(schema)),
];

const urlOf = ({ path, parameters = [] }: Call): string => {
  const exampleOf = ({ schema }: Parameter) => encodeURIComponent(String(schema.examples?.[0] ?? ""));
  const filled = parameters
    .filter((parameter) => parameter.in === "path")
    .reduce((url, parameter) => url.replace(`{${parameter.name}}`, exampleOf(parameter)), path);
  const query = parameters
    .filter((parameter) => parameter.in === "query" && parameter.required === true)
    .map((parameter) => `${parameter.name}=${exampleOf(parameter)}`);
  return query.length === 0 ? filled : `${filled}?${query.join("&")}`;
};

const formValue = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const curlOf = (call: Call): string => {
  const { method, requestBody, security } = call;
  const [[type, body] = []] = Object.entries(requestBody?.content ?? {});
  const example = body?.example ?? {};
  const options =
    type === "multipart/form-data"
      ? [
          ...Object.entries(example).map(([name, value]) => `-F ${quoteForShell(`${name}=${formValue(value)}`)}`),
          "-F source_archive=@source.tar.gz",
        ]
      : type === undefined
        ? []
        : [`-H ${quoteForShell(`Content-Type: ${type}`)}`, `-d ${quoteForShell(JSON.stringify(example))}`];
  const start = method === "POST" && type === undefined ? "curl -X POST" : "curl";
  const lines = [
    `${start} "$PORTSIDE_URL${urlOf(call)}"`,
    ...(security?.length === 0 ? [] : ['-H "X-API-Key: $PORTSIDE_API_KEY"']),
    ...options,
  ];
  return lines.join(" \\\n  ");
};

const responseTable = ({ responses }: Call): Html =>
  html`<table><tbody>${Object.entries(responses).map(
    ([status, { description }]) => html`<tr><td><code>${status}</code></td><td>${prose(description)}</td></tr>`,
  )}</tbody></table>`;

const responseSection = ({ responses }: Call): Html => {
  const [[type, body] = []] = Object.entries(responses["200"]?.content ?? {});
  if (type === undefined || body === undefined) return nothing;
  const fields = fieldsOf(body.schema);
  return html`<h4>Response</h4><p>${typeOf(body.schema)}, <code>${type}</code>. ${prose(body.schema.description ?? "")}</p>${
    fields.length === 0 ? nothing : fieldTable(fields, false)
  }`;
};

const callSection = (call: Call): Html => {
  const input = inputOf(call);
  return html`<details id="${call.operationId}">
<summary><b class="${call.method.toLowerCase()}">${call.method}</b> <code>${call.path}</code> <span>${prose(call.summary)}</span></summary>
<p>${prose(call.description)}</p>
<pre>${curlOf(call)}</pre>
${input.length === 0 ? nothing : html`<h4>Request</h4>${fieldTable(input, true)}`}
${responseSection(call)}
<h4>Statuses</h4>
${responseTable(call)}
</details>
`;
};

const STYLE = new Html(`
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
code, pre { font: 0.9em/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: var(--soft); padding: 0.75rem; overflow-x: auto; white-space: pre-wrap; }
nav a { margin-right: 1rem; }
details { border: 1px solid var(--line); border-radius: 6px; margin: 0.5rem 0; padding: 0 1rem; }
summary { cursor: pointer; padding: 0.6rem 0; }
summary span { opacity: 0.8; margin-left: 0.5rem; }
.get, .post { display: inline-block; min-width: 3rem; }
.get { color: #2080c0; }
.post { color: #2a8a4a; }
table { border-collapse: collapse; width: 100%; font-size: 0.9em; margin-bottom: 1rem; }
td { border-top: 1px solid var(--line); padding: 0.3rem 0.75rem 0.3rem 0; vertical-align: top; }
td:first-child { white-space: nowrap; }
td b { font-weight: normal; font-size: 0.85em; opacity: 0.7; }
.rule { display: block; font-size: 0.9em; opacity: 0.75; }
h2 { margin-top: 2.5rem; }
h4 { margin: 1rem 0 0.25rem; }
`);

/** A quay with a ship's bow, in one colour. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" +
  "%3Crect width='16' height='16' rx='3' fill='%2320639b'/%3E%3Cpath d='M3 8h10l-2 4H5zM7 3h2v4H7z' fill='%23fff'/%3E%3C/svg%3E";

const idOf = (name: string): string => name.toLowerCase().replaceAll(" ", "-");

/** @param prefix the path prefix of the API */
export const docsPage = ({ info, tags, paths }: ApiDocument, prefix: string): string => {
  const calls: Call[] = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
  const title = `${info.title} API`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${ICON}">
<style>${STYLE}</style>
</head>
<body>
<h1>${title}</h1>
<nav>${tags.map(({ name }) => html`<a href="#${idOf(name)}">${name}</a>`)}<a href="${prefix}/openapi.json">OpenAPI ${info.version}</a></nav>
${info.description.split("\n\n").map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
<p>In the examples, <code>PORTSIDE_URL</code> is the address of this page without <code>/docs</code>, and
<code>PORTSIDE_API_KEY</code> is an API key.</p>
${tags.map(
  ({ name, description }) => html`<section>
<h2 id="${idOf(name)}">${name}</h2>
<p>${prose(description)}</p>
${calls.filter((call) => call.tags.includes(name)).map(callSection)}</section>
`,
)}</body>
</html>
`.text;
};
