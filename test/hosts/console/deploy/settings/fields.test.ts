/** The values of a deploy's form, and the request that they become. */
import { describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../../../adapters/memory/index.ts";
import { declareDeploy } from "../../../../../core/domain/deploy/declaration.ts";
import { projectFields } from "../../../../../core/domain/deploy/project-file.ts";
import {
  defaultsOf,
  fieldsOf,
  formOf,
  groups,
  helpOf,
  otherIssues,
  type Properties,
  problemsOf,
  repetitions,
  type Schema,
  valuesOf,
} from "../../../../../hosts/console/deploy/settings/fields.ts";
import { projectSchema } from "../../../../../hosts/http/docs/openapi.ts";

const { properties } = projectSchema() as unknown as { readonly properties: Properties };

const deployed = {
  name: "my-app",
  url: "https://my-app.example",
  status: "READY",
  env: ["A"],
  port: 3000,
  memory: "2Gi",
  cpu: 2,
  timeout: 60,
  concurrency: 10,
  max_instances: 5,
  min_instances: 1,
  session_affinity: true,
  use_http2: false,
  idle: "stop",
  volumes: { "/data": { name: "orders", read_only: false } },
  schedule: { cron: "0 9 * * *", timezone: "Europe/Paris" },
  health: { path: "/ready", interval: 10, timeout: 5, failures: 3 },
};

test("the form has every field of a deploy in one group", () => {
  const fields = groups.flatMap(([, names]) => names);
  expect(new Set(fields).size).toBe(fields.length);
  expect([...fields, "$schema", "name", "source"].sort()).toEqual(Object.keys(projectFields).sort());
});

describe("values", () => {
  test("of a new deployment are the defaults, which the platform accepts", () => {
    const fields = fieldsOf(valuesOf(properties, {}));
    expect(fields).toMatchObject({
      memory: "1Gi",
      cpu: 1,
      timeout: 600,
      volumes: {},
      env: {},
      health: null,
      idle: null,
    });
    expect(fields).not.toHaveProperty("schedule");
    const { capabilities } = createMemoryProvider().ports.provider;
    const declared = declareDeploy({ ...fields, function_name: "my-app" }, {
      capabilities,
      sourceOptional: true,
    } as never);
    expect(declared.isOk()).toBe(true);
  });

  test("of a deployment become the same fields again", () => {
    const { name: _name, url: _url, status: _status, env: _env, ...settings } = deployed;
    const { env: _variables, ...fields } = fieldsOf(valuesOf(properties, deployed));
    expect(fields).toEqual(settings);
  });

  test("of portside.json replace those that the file names", () => {
    const before = valuesOf(properties, deployed);
    const after = fieldsOf(valuesOf(properties, { memory: "512Mi", volumes: { "/cache": "fast" } }, before));
    expect(after).toMatchObject({ memory: "512Mi", volumes: { "/cache": { name: "fast" } }, timeout: 60 });
  });

  test("of a new object are its required members and its defaults", () => {
    expect(defaultsOf(properties["health"] as Schema)).toEqual({ path: "", interval: 10, timeout: 5, failures: 3 });
    expect(defaultsOf(properties["schedule"] as Schema)).toEqual({ cron: "" });
  });
});

describe("requests", () => {
  test("omit empty fields, including those of objects", () => {
    const volumes = [["/data", { name: "orders", sub_path: "" }]];
    expect(fieldsOf({ memory: "", health: { path: "/", host: "" }, volumes })).toEqual({
      health: { path: "/" },
      volumes: { "/data": { name: "orders" } },
    });
  });

  test("keep an empty variable", () => {
    expect(fieldsOf({ env: [["EMPTY", ""]] })).toEqual({ env: { EMPTY: "" } });
  });

  test("as a form contain texts as they are, and everything else as JSON", () => {
    expect(formOf({ memory: "1Gi", cpu: 0.5, health: null, volumes: { "/data": { name: "orders" } } })).toEqual({
      memory: "1Gi",
      cpu: "0.5",
      health: "null",
      volumes: '{"/data":{"name":"orders"}}',
    });
  });
});

describe("problems", () => {
  const issues = [
    { field: "memory", message: "must be a quantity" },
    { field: "volumes./data.name", message: "must not be empty" },
    { field: "health", message: "is not supported" },
    { field: "source_archive", message: "is required" },
  ];

  test("belong to the field that their path begins with", () => {
    expect(problemsOf(issues, "volumes")).toEqual([{ path: "/data.name", message: "must not be empty" }]);
    expect(problemsOf(issues, "health")).toEqual([{ path: "", message: "is not supported" }]);
    expect(problemsOf([{ field: "memory_limit", message: "other" }], "memory")).toEqual([]);
  });

  test("of fields outside the form are separate", () => {
    expect(otherIssues(issues, ["memory", "volumes", "health"])).toEqual([
      { field: "source_archive", message: "is required" },
    ]);
  });

  test("include keys that occur twice", () => {
    const volumes = [
      ["/data", { name: "a" }],
      ["/data", { name: "b" }],
    ];
    expect(repetitions({ memory: "1Gi", volumes })).toEqual([
      { field: "volumes", message: "'/data' occurs twice. Remove one." },
    ]);
  });
});

test("the help of a field omits the sentences about the format of a request", () => {
  expect(helpOf({ description: "Uses A. `null` removes it. Omit the field to keep it. See B." })).toBe(
    "Uses A. See B.",
  );
  for (const name of ["min_instances", "health", "idle", "memory"])
    expect(helpOf(properties[name] as Schema), name).toMatch(/^[A-Z][^{}]+\.$/);
});
