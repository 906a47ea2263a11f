/** The OpenAPI document is well formed, complete, and consistent with the contract and with the server's behaviour. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deployFields } from "../../../../core/domain/deploy/fields.ts";
import { deployReasons } from "../../../../core/domain/deploy/reason.ts";
import { issueTypes } from "../../../../core/domain/wire/issue.ts";
import { endpoints } from "../../../../hosts/http/endpoints.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { serveMemory } from "../../../support/http/api.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
// biome-ignore lint/suspicious/noExplicitAny: the tests check any part of the document
let document: any;
beforeAll(async () => {
  api = await serveMemory();
  const answer = await api.call("GET", "/openapi.json", { key: null });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  document = answer.json;
});
afterAll(() => api[Symbol.asyncDispose]());

/** Every value of the document with its path. */
function* walk(value: unknown, at = "#"): Generator<[string, unknown]> {
  yield [at, value];
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) yield* walk(inner, `${at}/${key}`);
}

const pathOf = (path: string): string => path.replace(/:(\w+)/g, "{$1}");
const operationOf = (method: string, path: string) => document.paths[pathOf(path)]?.[method.toLowerCase()];

/** The keywords of JSON Schema 2020-12 that the document uses. */
const keywords = [
  ...["type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "oneOf", "allOf", "const"],
  ...[
    "description",
    "examples",
    "default",
    "format",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
  ],
  ...[
    "exclusiveMinimum",
    "maxProperties",
    "minProperties",
    "propertyNames",
    "contentMediaType",
    "$ref",
    "readOnly",
    "writeOnly",
    "deprecated",
  ],
];
const types = ["string", "integer", "number", "boolean", "object", "array", "null"];

/** @param around the properties of the enclosing schema */
const checkSchema = (schema: unknown, at: string, around: object = {}): void => {
  if (typeof schema === "boolean") return;
  expect(schema, at).toBeTypeOf("object");
  const one = schema as Record<string, unknown>;
  for (const key of Object.keys(one)) expect(keywords, `${at}/${key}`).toContain(key);
  for (const type of [one["type"] ?? []].flat()) expect(types, at).toContain(type);
  for (const name of (one["required"] as string[]) ?? [])
    expect(Object.keys((one["properties"] as object) ?? around), at).toContain(name);
  for (const [name, inner] of Object.entries((one["properties"] as object) ?? {})) checkSchema(inner, `${at}/${name}`);
  for (const part of ["items", "additionalProperties", "propertyNames"])
    if (one[part] !== undefined) checkSchema(one[part], `${at}/${part}`);
  for (const part of ["anyOf", "oneOf", "allOf"])
    for (const inner of (one[part] as unknown[]) ?? [])
      checkSchema(inner, `${at}/${part}`, one["properties"] as object | undefined);
};

describe("well formed", () => {
  test("is OpenAPI 3.1 with version 1.0.0 of this API", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.info).toMatchObject({ title: "Portside", version: "1.0.0" });
    expect(document.servers).toEqual([{ url: "/" }]);
  });

  test("every reference resolves", () => {
    const references = [...walk(document)].filter(([at]) => at.endsWith("/$ref"));
    expect(references.length).toBeGreaterThan(100);
    for (const [at, reference] of references) {
      const parts = String(reference).slice(2).split("/");
      const found = parts.reduce((value, part) => value?.[part], document);
      expect(found, `${at}: ${reference}`).toBeTypeOf("object");
    }
  });

  test("every schema is valid", () => {
    // Excludes the endpoint whose path ends in `/schema`.
    const isSchema = (at: string): boolean => at.endsWith("/schema") && !(at.slice("#/".length) in document.paths);
    const schemas = [...walk(document.paths)].filter(([at]) => isSchema(at));
    for (const [at, schema] of schemas) checkSchema(schema, at);
    for (const [name, schema] of Object.entries(document.components.schemas)) checkSchema(schema, name);
    expect(schemas.length).toBeGreaterThan(200);
  });

  test("every operation has a summary, a unique id, and responses with descriptions", () => {
    // biome-ignore lint/suspicious/noExplicitAny: the tests check any part of the document
    const operations: any[] = Object.values(document.paths).flatMap((path) => Object.values(path as object));
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = document.tags.map(({ name }: { name: string }) => name);
    for (const { operationId, summary, description, tags: own, responses } of operations) {
      expect(tags).toEqual(expect.arrayContaining(own));
      expect(own.length).toBe(1);
      expect(description, operationId).toMatch(/\S\.$/);
      expect(Object.keys(responses).some((status) => status.startsWith("4"))).toBe(true);
      expect(operationId).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(summary).toMatch(/\S/);
      for (const [status, response] of Object.entries(responses)) {
        expect(status).toMatch(/^[2-5](?:\d\d|XX)$/);
        expect((response as { description: string }).description).toMatch(/\S/);
        const expected = { "401": "WWW-Authenticate", "429": "Retry-After", "503": "Retry-After" }[status];
        const headers = Object.keys((response as { headers: object }).headers);
        expect(headers, `${operationId} ${status}`).toEqual(
          expect.arrayContaining(["X-Request-Id", ...(expected === undefined ? [] : [expected])]),
        );
      }
    }
  });
});

describe("complete", () => {
  test("lists every path, and declares that health checks need no credential", () => {
    const paths = [...new Set(endpoints.map(({ path }) => pathOf(path))), "/health", "/ready"];
    expect(Object.keys(document.paths).sort()).toEqual(paths.sort());
    expect(document.security).toEqual([{ apiKey: [] }, { bearer: [] }, { sessionCookie: [], sessionToken: [] }]);
    for (const path of ["/health", "/ready"]) expect(document.paths[path].get.security).toEqual([]);
    expect(document.paths["/v1/console/sign-in"].post.security).toEqual([]);
  });

  test.each(endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const))(
    "%s has its fields and responses",
    (_name, { method, path, fields, kind, response }) => {
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
      expect(Object.hasOwn(operation.responses, "200")).toBe(response.type !== "never");
    },
  );

  test("permits further fields in responses, but not in requests", () => {
    const closed = [...walk(document.paths)].filter(
      ([at, value]) => at.endsWith("/additionalProperties") && value === false,
    );
    expect(closed.filter(([at]) => at.includes("/responses/"))).toEqual([]);
    expect(closed.length).toBeGreaterThan(10);
  });

  test("declares path parameters", () => {
    const [id, after] = operationOf("GET", "/v1/deploy/:deploy_id").parameters;
    expect(id).toMatchObject({ name: "deploy_id", in: "path", required: true });
    expect(after).toMatchObject({ name: "after", in: "query", required: false });
  });
});

describe("consistent with the contract", () => {
  test("the deploy form: types, bounds and defaults", () => {
    const { schema } = operationOf("POST", "/v1/deploy").requestBody.content["multipart/form-data"];
    expect(schema.required.sort()).toEqual(["function_name", "volumes"]);
    expect(schema.additionalProperties).toBe(false);
    expect(Object.keys(schema.properties).sort()).toEqual([...Object.keys(deployFields), "source_archive"].sort());
    expect(schema.properties).toMatchObject({
      function_name: { type: "string", pattern: expect.any(String), maxLength: 49 },
      source_archive: { type: "string", format: "binary" },
      port: { type: "integer", minimum: 1, maximum: 65_535, default: 8080 },
      memory: { type: "string", default: "1Gi" },
      session_affinity: { type: "boolean", default: false },
      use_http2: { type: "boolean", default: false },
      timeout: { type: "integer", minimum: 1, maximum: 3600, default: 600 },
      cpu: { type: "number", minimum: 0.25, default: 1 },
      concurrency: { type: "integer", minimum: 1, maximum: 1000, default: 80 },
      max_instances: { type: "integer", minimum: 0, maximum: 1000, default: 0 },
      volumes: { type: "object", maxProperties: 10 },
      schedule: { type: "string", default: "" },
      timezone: { type: "string", default: "" },
      env: { type: "object", additionalProperties: { anyOf: [{ type: "string" }, { required: ["secret"] }] } },
    });
  });

  test("lists the types of issues and the reasons of failures", () => {
    const problem = document.components.schemas.ValidationError.properties.detail.items;
    expect(problem.properties.type.enum).toEqual([...issueTypes]);
    const record = operationOf("POST", "/v1/deploy").responses["200"].content["application/x-ndjson"].schema;
    expect(record.properties.reason.enum).toEqual(Object.keys(deployReasons));
  });

  test("responses have exactly the documented fields", async () => {
    for (const path of ["/v1/capabilities", "/v1/key/list", "/v1/deployment/list"]) {
      const { schema } = operationOf("GET", path).responses["200"].content["application/json"];
      const { json } = await api.call("GET", path);
      const [answer] = [json].flat();
      if (answer !== undefined)
        expect(Object.keys((schema.items ?? schema).properties).sort()).toEqual(Object.keys(answer).sort());
    }
  });

  test("numbers have a maximum, and an upload requires one of its two fields for the object", () => {
    const after = operationOf("GET", "/v1/deploy/:deploy_id").parameters.at(1);
    expect(after.schema.maximum).toBe(Number.MAX_SAFE_INTEGER);
    const upload = operationOf("POST", "/v1/volume/upload").requestBody.content["application/json"].schema;
    expect(upload.anyOf).toEqual([{ required: ["object"] }, { required: ["path"] }]);
  });

  test("a cursor has no format: clients that parse it as a time would lose precision", () => {
    const page = operationOf("POST", "/v1/deployment/logs").responses["200"].content["application/json"].schema;
    expect(page.properties.cursor.format).toBeUndefined();
  });

  test("every example works", async () => {
    await using own = await serveMemory();
    const deploy = operationOf("POST", "/v1/deploy").requestBody.content["multipart/form-data"].example;
    const form = Object.fromEntries(
      Object.entries(deploy).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
    );
    // A rollback needs an earlier release, and a fire needs a schedule.
    const scheduled = { ...form, schedule: "0 9 * * *" };
    await own.deploy({ ...scheduled, timeout: "30" }, nodeSource(helloServer()));
    const [deployed] = (await own.deploy(scheduled, nodeSource(helloServer()))).text.split("\n");
    const { deploy_id } = JSON.parse(deployed as string);
    const { id } = (await own.call("POST", "/v1/key/create", { json: { label: "other" } })).json;
    const { url } = (await own.call("POST", "/v1/console/link")).json;
    await own.call("POST", "/v1/console/sign-in", { json: { key: await own.key() } });
    const { sessions } = (await own.call("GET", "/v1/console/sessions")).json;
    const made = {
      "/v1/deploy/cancel": { deploy_id },
      "/v1/key/revoke": { id },
      "/v1/console/sign-in": { link: url.split("#link=")[1] },
      "/v1/console/revoke": { id: sessions[0].id },
    } as Record<string, object>;
    // Each call needs the result of an earlier one: a deletion follows the uploads, and a restore follows the deletion.
    const order = ["/create", "/upload", "/upload-resume", "/download", "/delete-object", "/delete", "/restore"];
    const rank = ({ path }: { path: string }) => order.findIndex((end) => path.endsWith(end));
    const posts = endpoints.filter(({ method, kind }) => method === "POST" && kind === "json");
    const answers = new Map<string, number>();
    for (const { path } of posts.toSorted((a, b) => rank(a) - rank(b))) {
      const example = operationOf("POST", path).requestBody?.content["application/json"].example;
      const answer = await own.call("POST", path, { json: { ...example, ...made[path] } });
      answers.set(path, answer.status);
      // Creates the object that later examples name.
      if (path !== "/v1/volume/upload") continue;
      await fetch(answer.json.url, { method: "PUT", body: "a" });
      const parts = { json: { ...example, resumable: true, size: 1 } };
      const { upload_id } = (await own.call("POST", path, parts)).json;
      made["/v1/volume/upload-resume"] = { upload_id };
    }
    expect(Object.fromEntries(answers)).toEqual(
      Object.fromEntries(
        // The deploy has ended, and the request has no session.
        posts.map(({ path }) => [path, ["/v1/deploy/cancel", "/v1/console/sign-out"].includes(path) ? 409 : 200]),
      ),
    );
  });
});
