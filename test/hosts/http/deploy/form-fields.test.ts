/** Each field of the deploy form, out of bounds, of the wrong type, or missing. The error names that field only. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { problemsOf } from "../../../support/http/refusals.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

const good = { function_name: "app", volumes: "{}" };
const archive = sourceOf({ "index.js": "run()" });
const mounts = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`/data${n}`, "v"])));

/** The field, its text, and the problem with it as `loc: type`. */
const broken: readonly [string, string, string][] = [
  ["function_name", "", "body.function_name: string_too_short"],
  ["function_name", "a".repeat(50), "body.function_name: string_too_long"],
  ...["1app", "App", "app-", "app_", "a.b", "a b", "-", "ä"].map(
    (name) => ["function_name", name, "body.function_name: string_pattern_mismatch"] as [string, string, string],
  ),
  ["function_name", "www", "body.function_name: value_error"],
  ...["port", "cpu", "timeout", "concurrency"].map(
    (field) => [field, "0", `body.${field}: greater_than_equal`] as [string, string, string],
  ),
  ["max_instances", "-1", "body.max_instances: greater_than_equal"],
  ["port", "65536", "body.port: less_than_equal"],
  ["timeout", "3601", "body.timeout: less_than_equal"],
  ["concurrency", "1001", "body.concurrency: less_than_equal"],
  ["max_instances", "1001", "body.max_instances: less_than_equal"],
  ["max_instances", "201", "body.max_instances: quota_exceeded"],
  ["cpu", "9", "body.cpu: less_than_equal"],
  ["cpu", "0.2", "body.cpu: greater_than_equal"],
  ["cpu", "8.5", "body.cpu: less_than_equal"],
  ...["port", "timeout", "concurrency", "max_instances"].map(
    (field) => [field, "1.5", `body.${field}: int_parsing`] as [string, string, string],
  ),
  ...["port", "cpu", "timeout", "concurrency", "max_instances"].flatMap((field) =>
    ["", "x", ".5", "1.", "1e3", "0x1", " 1", "1,0", "NaN", "null"].map(
      (text) => [field, text, `body.${field}: int_parsing`] as [string, string, string],
    ),
  ),
  ...["port", "cpu", "timeout", "concurrency", "max_instances"].map(
    (field) => [field, "9".repeat(30), `body.${field}: less_than_equal`] as [string, string, string],
  ),
  ["memory", "127Mi", "body.memory: greater_than_equal"],
  ["memory", "33Gi", "body.memory: less_than_equal"],
  ...["", "lots", "1gb", "-1Gi", "1 Gi", "Gi"].map(
    (text) => ["memory", text, "body.memory: string_pattern_mismatch"] as [string, string, string],
  ),
  ...["session_affinity", "use_http2"].flatMap((field) =>
    ["", "yes", "2", "null", "truee", "constructor"].map(
      (text) => [field, text, `body.${field}: bool_parsing`] as [string, string, string],
    ),
  ),
  ["volumes", "", "body.volumes: missing"],
  ["volumes", "null", "body.volumes: missing"],
  ["volumes", "{", "body.volumes: json_invalid"],
  ["volumes", "[]", "body.volumes: dict_type"],
  ["volumes", '"v"', "body.volumes: dict_type"],
  ["volumes", '{"/d":"a","/d":"b"}', "body.volumes: json_invalid"],
  ["volumes", '{"data":"v"}', "body.volumes.data: value_error"],
  ["volumes", '{"/d":"V"}', "body.volumes./d: string_pattern_mismatch"],
  ["volumes", '{"/d":{"name":"v","readonly":true}}', "body.volumes./d.readonly: extra_forbidden"],
  ["volumes", '{"/d":{}}', "body.volumes./d.name: missing"],
  ["volumes", '{"/d":{"name":"v","read_only":"yes"}}', "body.volumes./d.read_only: bool_parsing"],
  ["volumes", '{"/d":{"name":"v","sub_path":"../x"}}', "body.volumes./d.sub_path: value_error"],
  ["volumes", mounts(11), "body.volumes: less_than_equal"],
  ["schedule", "* * * *", "body.schedule: value_error"],
  ["schedule", "0 0 30 2 *", "body.schedule: value_error"],
  ["schedule", "{", "body.schedule: json_invalid"],
  ["schedule", '{"cron":1}', "body.schedule.cron: string_type"],
  ["schedule", '{"timezone":"UTC"}', "body.schedule.cron: missing"],
  ["schedule", '{"cron":"61 * * * *"}', "body.schedule.cron: value_error"],
  ["timezone", "Mars/Phobos", "body.timezone: value_error"],
  ["timezone", "+02:00", "body.timezone: value_error"],
  ["min_instances", "", "body.min_instances: value_error"],
  ["health", "", "body.health: json_invalid"],
  ["health", "{}", "body.health.path: value_error"],
  ["idle", "", "body.idle: value_error"],
  ["idle", "frozen", "body.idle: value_error"],
  ["env", "", "body.env: json_invalid"],
  ["env", "A=1", "body.env: json_invalid"],
  ["env", "[]", "body.env: dict_type"],
  ["env", '{"A":1}', "body.env.A: string_type"],
  ["env", '{"1A":"x"}', "body.env.1A: string_pattern_mismatch"],
  ["env", '{"A":"1","A":"2"}', "body.env: json_invalid"],
  ["env", '{"A":"\\u0000"}', "body.env.A: value_error"],
  ...["PORT", "CRON_TOKEN", "K_SERVICE", "PORTSIDE_VOLUMES"].map(
    (name) => ["env", JSON.stringify({ [name]: "x" }), `body.env.${name}: value_error`] as [string, string, string],
  ),
  ["env", JSON.stringify({ A: "x".repeat(33_000) }), "body.env: too_large"],
  ["memroy", "1Gi", "body.memroy: extra_forbidden"],
  ["__proto__", "x", "body.__proto__: extra_forbidden"],
  ["constructor", "x", "body.constructor: extra_forbidden"],
];

const formOf = (fields: Readonly<Record<string, string>> | readonly (readonly [string, string])[]): FormData => {
  const form = new FormData();
  for (const [name, value] of Array.isArray(fields) ? fields : Object.entries(fields)) form.append(name, value);
  return form;
};

const withField = (field: string, text: string): FormData =>
  formOf([...Object.entries(good).filter(([name]) => name !== field), [field, text]]);

describe.each(["/v1/deploy/plan", "/v1/deploy"])("%s", (path) => {
  const send = (body: FormData) => {
    if (path === "/v1/deploy") body.set("source_archive", new Blob([archive as never]), "source.tar.gz");
    return api.call("POST", path, { body });
  };

  test.each(broken)("rejects %s = %j", async (field, text, problem) => {
    expect(problemsOf(await send(withField(field, text)))).toEqual([problem]);
  });

  test.each(Object.keys(good))("rejects a form without %s", async (field) => {
    const { [field as keyof typeof good]: _left, ...rest } = good;
    expect(problemsOf(await send(formOf(rest)))).toEqual([`body.${field}: missing`]);
  });

  test("reports every broken field in one response", async () => {
    const one = ["function_name", "port", "memory", "use_http2", "volumes", "schedule", "timezone", "env", "memroy"];
    const chosen = one.map((field) => broken.find(([name]) => name === field) as [string, string, string]);
    expect(problemsOf(await send(formOf(chosen.map(([name, text]) => [name, text] as const))))).toEqual(
      chosen.map(([, , problem]) => problem).sort(),
    );
  });
});

test("deploys nothing", () => {
  expect(api.memory.snapshot().services.size).toBe(0);
});
