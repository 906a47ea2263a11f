/** The filter of the log's page, checked by the platform's own parser. */
import { expect, test } from "vitest";
import { addField, combineFilter, filterProblemOf } from "../../../../hosts/console/logs/filter.ts";
import { serveMemory } from "../../../support/http/api.ts";

test("combines the filter with the severity", () => {
  expect(combineFilter("", "")).toBeUndefined();
  expect(combineFilter("  ", "ERROR")).toBe("severity>=ERROR");
  expect(combineFilter("a OR b", "")).toBe("a OR b");
  expect(combineFilter("a OR b", "ERROR")).toBe("(a OR b) AND severity>=ERROR");
});

test.each([
  ["severity>==ERROR", "", 10],
  ["severity>==ERROR", "ERROR", 10],
  ['😀="x" AND (', "ERROR", undefined],
])("places the platform's error in the filter '%s' with the severity '%s'", async (query, severity, at) => {
  await using api = await serveMemory();
  const { status, json } = await api.call("POST", "/v1/deployment/logs", {
    json: { deployment_name: "app", query: combineFilter(query, severity) },
  });
  expect(status).toBe(422);
  const issues = json.detail.map(({ loc, msg }: { loc: string[]; msg: string }) => ({
    field: loc.slice(1).join("."),
    message: msg,
  }));
  const problem = filterProblemOf(issues, query, severity);
  expect(problem?.message).not.toMatch(/^at position/);
  expect(problem?.at).toBeLessThanOrEqual(query.length);
  if (at !== undefined) expect(problem?.at).toBe(at);
});

test("returns no problem for an error of a different field", () => {
  expect(filterProblemOf([{ field: "since", message: "must be a date-time" }], "a", "")).toBeUndefined();
});

test.each([
  [["user"], "ada", 'jsonPayload.user="ada"'],
  [["cart", "items"], 3, "jsonPayload.cart.items=3"],
  [["a b", 'c"d'], 'x"y\\', String.raw`jsonPayload."a b"."c\"d"="x\"y\\"`],
  [["ok"], true, "jsonPayload.ok=true"],
])("adds the field %j with the value %j in a form that the platform accepts", async (path, value, filter) => {
  expect(addField("", path, value)).toBe(filter);
  const combined = addField("severity>=INFO OR timeout", path, value);
  expect(combined).toBe(`(severity>=INFO OR timeout) AND ${filter}`);
  await using api = await serveMemory();
  const { json } = await api.call("POST", "/v1/deployment/logs", { json: { deployment_name: "app", query: combined } });
  // The filter is valid: the error, if any, is about the deployment.
  expect(JSON.stringify(json)).not.toContain("query");
});
