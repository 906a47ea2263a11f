/** Pages about the API: the reader, which loads nothing from anywhere else, and the schema of `portside.json`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readProject } from "../../../core/domain/project-file.ts";
import { serveMemory } from "../../support/api.ts";
import { violations } from "../../support/json-schema.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

const get = (path: string) => api.call("GET", path, { key: null });

describe("the reader at /docs", () => {
  test("is a page, for everybody", async () => {
    const answer = await get("/docs");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^text\/html/);
  });

  test("loads its script from here, and nothing from any other host", async () => {
    const { text } = await get("/docs/");
    const sources = [...text.matchAll(/\b(?:src|href|action|data)\s*=\s*["']([^"']*)["']/g)].map(
      ([, source]) => source,
    );
    expect(sources).toEqual(["js/scalar.js"]);
    expect(text).not.toMatch(/https?:|\/\/[a-z]+\.[a-z]|@import|url\(/i);
    const script = await get("/docs/js/scalar.js");
    expect(script.status).toBe(200);
    expect(script.headers.get("content-type")).toMatch(/javascript/);
    expect(script.text.length).toBeGreaterThan(1_000_000);
  });

  test("is told to fetch the document from here, and to call nobody", async () => {
    const { text } = await get("/docs/");
    const [, configuration = ""] = /createApiReference\('#app', (\{.+?\})\s*\)\s*<\/script>/s.exec(text) ?? [];
    expect(JSON.parse(configuration)).toMatchObject({
      url: "/openapi.json",
      withDefaultFonts: false,
      telemetry: false,
      proxyUrl: "",
      agent: { disabled: true },
    });
    expect((await get("/openapi.json")).json.openapi).toBe("3.1.0");
  });

  test("has nothing else", async () => {
    for (const path of ["/docs/nothing", "/docs/../package.json", "/docs/js/..%2f..%2fpackage.json"]) {
      const answer = await get(path);
      expect([answer.status, answer.json]).toEqual([404, { detail: "There is nothing here." }]);
    }
  });
});

describe("the schema of portside.json", () => {
  let schema: Record<string, unknown>;
  beforeAll(async () => {
    const answer = await get("/schema/portside.json");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^application\/schema\+json/);
    schema = answer.json;
  });

  const full = {
    $schema: "./portside.schema.json",
    name: "my-app",
    port: 8080,
    memory: "512Mi",
    cpu: 2,
    timeout: 600,
    concurrency: 80,
    max_instances: 10,
    session_affinity: true,
    use_http2: false,
    volumes: { "/data": "my-volume", "/cache": { name: "cache", read_only: true, sub_path: "a/b" } },
    schedule: { cron: "0 9 * * 1-5", timezone: "Europe/Paris" },
    env: { LOG_LEVEL: "debug" },
    source: "src",
  };

  test("is JSON Schema of 2020-12, with every key of the contract", () => {
    expect(schema).toMatchObject({ $schema: "https://json-schema.org/draft/2020-12/schema", title: "portside.json" });
    expect(Object.keys(schema["properties"] as object).sort()).toEqual(Object.keys(full).sort());
    expect([...(schema["required"] as string[])].sort()).toEqual(["name", "volumes"]);
  });

  test("takes what the platform takes", () => {
    for (const file of [full, { name: "app", volumes: {} }]) {
      expect(violations(file, schema)).toEqual([]);
      expect(readProject(file).issues).toEqual([]);
    }
  });

  test("takes the examples of this repository", () => {
    const files = readdirSync("examples", { recursive: true }).map(String);
    const found = files.filter((path) => path.endsWith("portside.json") && !path.includes("node_modules"));
    expect(found.length).toBeGreaterThan(0);
    for (const path of found)
      expect(violations(JSON.parse(readFileSync(join("examples", path), "utf8")), schema), path).toEqual([]);
  });

  test.each<[string, object]>([
    ["an unknown key", { ...full, memroy: "1Gi" }],
    ["function_name, which is called name here", { ...full, function_name: "app" }],
    ["no name", { volumes: {} }],
    ["no volumes", { name: "app" }],
    ["a port out of bounds", { ...full, port: 0 }],
    ["a port as a word", { ...full, port: "http" }],
    ["a schedule as text", { ...full, schedule: "0 9 * * *" }],
    ["a schedule with more in it", { ...full, schedule: { cron: "0 9 * * *", zone: "UTC" } }],
    ["a mount with more in it", { ...full, volumes: { "/d": { name: "v", readonly: true } } }],
    ["a number in the environment", { ...full, env: { PORT: 80 } }],
    ["an empty source", { ...full, source: "" }],
    ["a list", [] as object],
  ])("refuses %s, as the platform does", (_what, file) => {
    expect(violations(file, schema)).not.toEqual([]);
    if (!_what.startsWith("a schedule as text")) expect(readProject(file).issues).not.toEqual([]);
  });
});
