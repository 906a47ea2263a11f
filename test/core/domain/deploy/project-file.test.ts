/** `portside.json` is read with the deploy's own rules. */
import { expect, test } from "vitest";
import { deployFields } from "../../../../core/domain/deploy/fields.ts";
import { PROJECT_FILE, projectFields, readProject } from "../../../../core/domain/deploy/project-file.ts";

const issuesOf = (raw: unknown) => readProject(raw).issues.map(({ path, type }) => [path.join("."), type]);

test("the fields of the file are what a deploy sends, by the same names", () => {
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

test("source is the file's own folder where it is not named, and $schema is for editors", () => {
  const { project } = readProject({ $schema: "./portside.schema.json", name: "app", volumes: {} });
  expect(project).toEqual({ name: "app", source: ".", fields: { volumes: {} } });
});

test("every broken rule comes back at once", () => {
  expect(issuesOf({ name: "App", port: 0, schedule: { cron: "@daily" }, memroy: "1Gi", source: "" })).toEqual([
    ["memroy", "extra_forbidden"],
    ["name", "string_pattern_mismatch"],
    ["port", "greater_than_equal"],
    ["volumes", "missing"],
    ["source", "string_too_short"],
    ["schedule.cron", "value_error"],
  ]);
});

test.each([[null], [[]], ["text"], [5]])("%j is no project", (raw) =>
  expect(issuesOf(raw)).toEqual([["", "dict_type"]]),
);

test("the words for a file that is no object, and for a source that is nothing", () => {
  const messagesOf = (raw: unknown) => readProject(raw).issues.map(({ message }) => message);
  expect(messagesOf([])).toEqual(['must be an object such as {"name": "my-app", "volumes": {}}']);
  expect(messagesOf({ name: "app", volumes: {}, source: "" })).toEqual(["must not be empty"]);
});

test("what only a request has is no field of the file", () => {
  expect(issuesOf({ name: "app", volumes: {}, function_name: "app", timezone: "UTC" })).toEqual([
    ["function_name", "extra_forbidden"],
    ["timezone", "extra_forbidden"],
  ]);
});

test("every other field of a deploy is one of the file", () => {
  const own = ["function_name", "timezone", "source_object"];
  expect(Object.keys(deployFields).filter((name) => !(name in projectFields))).toEqual(expect.arrayContaining(own));
  expect(Object.keys(deployFields).filter((name) => !(name in projectFields))).toHaveLength(own.length);
  expect(PROJECT_FILE).toBe("portside.json");
});
