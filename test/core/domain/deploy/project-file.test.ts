/** `portside.json` is read by the same rules as a deploy request. */
import { expect, test } from "vitest";
import { deployFields } from "../../../../core/domain/deploy/fields.ts";
import { projectFields, readProject } from "../../../../core/domain/deploy/project-file.ts";
import { PROJECT_FILE } from "../../../../core/domain/deploy/source/packing.ts";

const issuesOf = (raw: unknown) => readProject(raw).issues.map(({ path, type }) => [path.join("."), type]);

test("the fields have the names of the deploy request", () => {
  const raw = {
    name: "my_app",
    volumes: { "/data": "vol" },
    port: 3000,
    schedule: { cron: "0 9 * * *" },
    source: "app",
  };
  expect(readProject(raw)).toEqual({
    project: {
      name: "my_app",
      source: "app",
      fields: { volumes: { "/data": "vol" }, port: 3000, schedule: { cron: "0 9 * * *" } },
    },
    issues: [],
  });
});

test("source defaults to the file's folder, and $schema is ignored", () => {
  const { project } = readProject({ $schema: "./portside.schema.json", name: "app", volumes: {} });
  expect(project).toEqual({ name: "app", source: ".", fields: { volumes: {} } });
});

test("reports every broken rule together", () => {
  expect(issuesOf({ name: "App", port: 0, schedule: { cron: "@daily" }, memroy: "1Gi", source: "" })).toEqual([
    ["memroy", "extra_forbidden"],
    ["name", "string_pattern_mismatch"],
    ["port", "greater_than_equal"],
    ["volumes", "missing"],
    ["schedule.cron", "value_error"],
    ["source", "string_too_short"],
  ]);
});

test.each([[null], [[]], ["text"], [5]])("rejects %j", (raw) => expect(issuesOf(raw)).toEqual([["", "dict_type"]]));

test("messages for a file that is not an object and for an empty source", () => {
  const messagesOf = (raw: unknown) => readProject(raw).issues.map(({ message }) => message);
  expect(messagesOf([])).toEqual(['must be an object such as {"name": "my-app", "volumes": {}}']);
  expect(messagesOf({ name: "app", volumes: {}, source: "" })).toEqual(["must not be empty"]);
});

test("rejects fields that only a request has", () => {
  expect(issuesOf({ name: "app", volumes: {}, function_name: "app", timezone: "UTC" })).toEqual([
    ["function_name", "extra_forbidden"],
    ["timezone", "extra_forbidden"],
  ]);
});

test("has every field of a deploy, except four that only a request has", () => {
  const own = ["function_name", "timezone", "source_object", "message"];
  expect(Object.keys(deployFields).filter((name) => !(name in projectFields))).toEqual(expect.arrayContaining(own));
  expect(Object.keys(deployFields).filter((name) => !(name in projectFields))).toHaveLength(own.length);
  expect(PROJECT_FILE).toBe("portside.json");
});
