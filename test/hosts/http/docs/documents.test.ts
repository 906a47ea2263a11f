/** Pages about the API: `/docs`, which loads nothing, and the schema of `portside.json`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import helmet from "@fastify/helmet";
import Fastify from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readProject } from "../../../../core/domain/deploy/project-file.ts";
import { docsPage } from "../../../../hosts/http/docs/docs-page.ts";
import { portside } from "../../../../hosts/http/index.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { violations } from "../../../support/http/json-schema.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

const get = (path: string) => api.call("GET", path, { key: null });

/** Returns all values of an attribute in the page. */
const valuesOf = (page: string, attribute: string): string[] =>
  [...page.matchAll(new RegExp(` ${attribute}="([^"]*)"`, "g"))].map(([, value]) => value as string);

const idsOf = (page: string, element: string): string[] =>
  [...page.matchAll(new RegExp(`<${element} id="([^"]*)"`, "g"))].map(([, id]) => id as string);

describe("the page at /docs", () => {
  test("is public, and `/docs/` redirects to it", async () => {
    for (const path of ["/docs/", "/docs"]) {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer.text).toContain("<title>Portside API</title>");
    }
  });

  test("has every tag and every operation of the document once, with the fields of requests", async () => {
    const { text } = await get("/docs");
    const { tags, paths } = (await get("/openapi.json")).json;
    expect(idsOf(text, "h2")).toEqual(tags.map(({ name }: { name: string }) => name.toLowerCase()));
    const operations = Object.values<Record<string, { operationId: string }>>(paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(idsOf(text, "details").sort()).toEqual(operations.sort());
    expect(text).toContain("The deploy to follow.");
    for (const field of ["function_name", "source_archive", "deployment_name", "[].last_deploy.status"])
      expect(text).toContain(`<td><code>${field}</code>`);
  });

  test("has examples of calls for a shell", async () => {
    const { text } = await get("/docs");
    expect(text).toContain("curl &quot;$PORTSIDE_URL/v1/deployment/check-name?name=my-app&quot;");
    expect(text).toContain("-d &#39;{&quot;deployment_name&quot;:&quot;my-app&quot;}&#39;");
    expect(text).toContain("-F source_archive=@source.tar.gz");
  });

  test("escapes the document's text", () => {
    const text = `<img src=x onerror="alert('1')"> & \`<b>\``;
    const info = { title: text, version: text, description: text };
    const operation = { summary: text, description: text, operationId: text, tags: [text], responses: {} };
    const page = docsPage(
      { info, tags: [{ name: text, description: text }], paths: { [text]: { get: operation } } },
      "",
    );
    expect(page).not.toMatch(/<img|<b>[^A-Z]|alert\('/);
    expect(page).toContain("&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp;");
    expect(page).toContain("<code>&lt;b&gt;</code>");
  });

  test("works under the default content security policy of @fastify/helmet", async () => {
    const app = Fastify();
    await app.register(helmet);
    // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
    await app.register(portside, { controlPlane: api.controlPlane });
    const page = await app.inject("/docs");
    const policy = String(page.headers["content-security-policy"]).split(";");
    expect(policy).toContain("style-src 'self' https: 'unsafe-inline'");
    expect(policy).toContain("img-src 'self' data:");
    // The policy allows inline styles, data: images and links; the page must have nothing else.
    expect(page.body).not.toMatch(
      /<(?:script|iframe|object|embed|form|img|base)\b| on[a-z]+=| style=|@import|url\(|javascript:/i,
    );
    expect(valuesOf(page.body, "src")).toEqual([]);
    const links = valuesOf(page.body, "href").filter((link) => !link.startsWith("#"));
    expect(links.map((link) => link.split(",")[0])).toEqual(["data:image/svg+xml", "/openapi.json"]);
    await app.close();
  });

  test("has no other paths", async () => {
    for (const path of ["/docs/nothing", "/docs/../package.json", "/docs/js/..%2f..%2fpackage.json"]) {
      const answer = await get(path);
      expect([answer.status, answer.json]).toEqual([
        404,
        { detail: "No endpoint has this path. See /docs for the endpoints." },
      ]);
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
    min_instances: 1,
    health: { path: "/healthz", interval: 30, timeout: 5, failures: 3, host: "example.com" },
    idle: "stop",
    source: "src",
  };

  test("is JSON Schema of 2020-12, with every key of the contract", () => {
    expect(schema).toMatchObject({ $schema: "https://json-schema.org/draft/2020-12/schema", title: "portside.json" });
    expect(Object.keys(schema["properties"] as object).sort()).toEqual(Object.keys(full).sort());
    expect([...(schema["required"] as string[])].sort()).toEqual(["name", "volumes"]);
  });

  test("accepts valid files, as the platform does", () => {
    for (const file of [full, { name: "app", volumes: {} }, { name: "app", volumes: {}, idle: null, health: null }]) {
      expect(violations(file, schema)).toEqual([]);
      expect(readProject(file).issues).toEqual([]);
    }
  });

  test("accepts the examples of this repository", () => {
    const files = readdirSync("examples", { recursive: true }).map(String);
    const found = files.filter((path) => path.endsWith("portside.json") && !path.includes("node_modules"));
    expect(found.length).toBeGreaterThan(0);
    for (const path of found)
      expect(violations(JSON.parse(readFileSync(join("examples", path), "utf8")), schema), path).toEqual([]);
  });

  test.each<[string, object]>([
    ["an unknown key", { ...full, memroy: "1Gi" }],
    ["function_name, because the file's key is name", { ...full, function_name: "app" }],
    ["no name", { volumes: {} }],
    ["no volumes", { name: "app" }],
    ["a port out of bounds", { ...full, port: 0 }],
    ["a port as a word", { ...full, port: "http" }],
    ["a schedule as text", { ...full, schedule: "0 9 * * *" }],
    ["a schedule with an unknown key", { ...full, schedule: { cron: "0 9 * * *", zone: "UTC" } }],
    ["a mount with an unknown key", { ...full, volumes: { "/d": { name: "v", readonly: true } } }],
    ["a number in the environment", { ...full, env: { PORT: 80 } }],
    ["a negative minimum", { ...full, min_instances: -1 }],
    ["a health check without a path", { ...full, health: { interval: 5 } }],
    ["a health check with an unknown key", { ...full, health: { path: "/", every: 5 } }],
    ["a relative health path", { ...full, health: { path: "healthz" } }],
    ["an unknown idle mode", { ...full, idle: "sleep" }],
    ["an empty source", { ...full, source: "" }],
    ["a list", [] as object],
  ])("rejects %s, as the platform does", (_what, file) => {
    expect(violations(file, schema)).not.toEqual([]);
    if (!_what.startsWith("a schedule as text")) expect(readProject(file).issues).not.toEqual([]);
  });
});
