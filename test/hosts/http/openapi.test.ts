/** The OpenAPI document: well formed, whole, and in agreement with the contract and with what the server does. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deployFields } from "../../../core/domain/deploy-fields.ts";
import { deployReasons } from "../../../core/domain/deploy-reason.ts";
import { issueTypes } from "../../../core/domain/issue.ts";
import { endpoints } from "../../../hosts/http/endpoints/index.ts";
import { serveMemory } from "../../support/api.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
// biome-ignore lint/suspicious/noExplicitAny: the document is asserted on, whatever it is
let document: any;
beforeAll(async () => {
  api = await serveMemory();
  const answer = await api.call("GET", "/openapi.json", { key: null });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  document = answer.json;
});
afterAll(() => api[Symbol.asyncDispose]());

/** Every value of the document with its place. */
function* walk(value: unknown, at = "#"): Generator<[string, unknown]> {
  yield [at, value];
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) yield* walk(inner, `${at}/${key}`);
}

const pathOf = (path: string): string => path.replace(/:(\w+)/g, "{$1}");
const operationOf = (method: string, path: string) => document.paths[pathOf(path)]?.[method.toLowerCase()];

/** Of JSON Schema 2020-12, the keywords that the document uses. */
const keywords = [
  ...["type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "oneOf", "allOf", "const"],
  ...["description", "examples", "default", "format", "minimum", "maximum", "minLength", "maxLength", "pattern"],
  ...["exclusiveMinimum", "maxProperties", "minProperties", "propertyNames", "contentMediaType", "$ref", "readOnly"],
];
const types = ["string", "integer", "number", "boolean", "object", "array", "null"];

const checkSchema = (schema: unknown, at: string): void => {
  if (typeof schema === "boolean") return;
  expect(schema, at).toBeTypeOf("object");
  const one = schema as Record<string, unknown>;
  for (const key of Object.keys(one)) expect(keywords, `${at}/${key}`).toContain(key);
  for (const type of [one["type"] ?? []].flat()) expect(types, at).toContain(type);
  for (const name of (one["required"] as string[]) ?? [])
    expect(Object.keys((one["properties"] as object) ?? {}), at).toContain(name);
  for (const [name, inner] of Object.entries((one["properties"] as object) ?? {})) checkSchema(inner, `${at}/${name}`);
  for (const part of ["items", "additionalProperties", "propertyNames"])
    if (one[part] !== undefined) checkSchema(one[part], `${at}/${part}`);
  for (const part of ["anyOf", "oneOf", "allOf"])
    for (const inner of (one[part] as unknown[]) ?? []) checkSchema(inner, `${at}/${part}`);
};

describe("well formed", () => {
  test("it is OpenAPI 3.1 of this API, version 1.0.0", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.info).toMatchObject({ title: "Portside", version: "1.0.0" });
    expect(document.servers).toEqual([{ url: "/" }]);
  });

  test("every reference leads somewhere", () => {
    const references = [...walk(document)].filter(([at]) => at.endsWith("/$ref"));
    expect(references.length).toBeGreaterThan(100);
    for (const [at, reference] of references) {
      const parts = String(reference).slice(2).split("/");
      const found = parts.reduce((value, part) => value?.[part], document);
      expect(found, `${at}: ${reference}`).toBeTypeOf("object");
    }
  });

  test("every schema is one", () => {
    const schemas = [...walk(document.paths)].filter(([at]) => at.endsWith("/schema"));
    for (const [at, schema] of schemas) checkSchema(schema, at);
    for (const [name, schema] of Object.entries(document.components.schemas)) checkSchema(schema, name);
    expect(schemas.length).toBeGreaterThan(200);
  });

  test("every operation has a summary, an id of its own, and answers with descriptions", () => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is asserted on, whatever it is
    const operations: any[] = Object.values(document.paths).flatMap((path) => Object.values(path as object));
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operationId, summary, responses } of operations) {
      expect(operationId).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(summary).toMatch(/\S/);
      for (const [status, response] of Object.entries(responses)) {
        expect(status).toMatch(/^[2-5]\d\d$/);
        expect((response as { description: string }).description).toMatch(/\S/);
      }
    }
  });
});

describe("whole", () => {
  test("no path more, none less; the open ones say that they need no credential", () => {
    const paths = [...new Set(endpoints.map(({ path }) => pathOf(path))), "/health", "/ready"];
    expect(Object.keys(document.paths).sort()).toEqual(paths.sort());
    expect(document.security).toEqual([{ apiKey: [] }, { bearer: [] }]);
    for (const path of ["/health", "/ready"]) expect(document.paths[path].get.security).toEqual([]);
  });

  test.each(endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const))(
    "%s has its fields and answers",
    (_name, { method, path, fields, kind, answer }) => {
      const operation = operationOf(method, path);
      const shown =
        method === "GET"
          ? operation.parameters.map(({ name }: { name: string }) => name)
          : Object.keys(
              Object.values<{ schema: { properties: object } }>(operation.requestBody?.content ?? {})[0]?.schema
                .properties ?? {},
            );
      const form = kind === "deploy" || kind === "plan";
      expect([...shown].sort()).toEqual([...Object.keys(fields), ...(form ? ["source_archive"] : [])].sort());
      for (const status of ["401", "403", "422", "429", "500", "501", "503"])
        expect(operation.responses, status).toHaveProperty(status);
      if (method === "POST") expect(operation.responses).toHaveProperty("415");
      expect(Object.hasOwn(operation.responses, "200")).toBe(answer.type !== "never");
    },
  );

  test("what a path names is said to be in the path", () => {
    const [id, after] = operationOf("GET", "/v1/deploy/:deploy_id").parameters;
    expect(id).toMatchObject({ name: "deploy_id", in: "path", required: true });
    expect(after).toMatchObject({ name: "after", in: "query", required: false });
  });
});

describe("in agreement with the contract", () => {
  test("the deploy form: types, bounds and defaults", () => {
    const { schema } = operationOf("POST", "/v1/deploy").requestBody.content["multipart/form-data"];
    expect(schema.required.sort()).toEqual(["function_name", "volumes"]);
    expect(schema.additionalProperties).toBe(false);
    expect(Object.keys(schema.properties).sort()).toEqual([...Object.keys(deployFields), "source_archive"].sort());
    expect(schema.properties).toMatchObject({
      function_name: { type: "string" },
      port: { type: "integer", minimum: 1, maximum: 65_535, default: 8080 },
      memory: { type: "string", default: "1Gi" },
      session_affinity: { type: "boolean", default: false },
      use_http2: { type: "boolean", default: false },
      timeout: { type: "integer", minimum: 1, maximum: 3600, default: 600 },
      cpu: { type: "integer", minimum: 1, default: 1 },
      concurrency: { type: "integer", minimum: 1, maximum: 1000, default: 80 },
      max_instances: { type: "integer", minimum: 0, maximum: 1000, default: 0 },
      volumes: { type: "object", maxProperties: 10 },
      schedule: { type: "string", default: "" },
      timezone: { type: "string", default: "" },
      env: { type: "object", additionalProperties: { type: "string" } },
    });
  });

  test("the words of problems and of failures are listed", () => {
    const problem = document.components.schemas.ValidationError.properties.detail.items;
    expect(problem.properties.type.enum).toEqual([...issueTypes]);
    const record = operationOf("POST", "/v1/deploy").responses["200"].content["application/x-ndjson"].schema;
    expect(record.properties.reason.enum).toEqual(Object.keys(deployReasons));
  });

  test("an answer has the fields that are announced, and only those", async () => {
    for (const path of ["/v1/capabilities", "/v1/key/list", "/v1/deployment/list"]) {
      const { schema } = operationOf("GET", path).responses["200"].content["application/json"];
      const { json } = await api.call("GET", path);
      const [answer] = [json].flat();
      if (answer !== undefined)
        expect(Object.keys((schema.items ?? schema).properties).sort()).toEqual(Object.keys(answer).sort());
    }
  });
});
