/** The small requests, and the ids that clients may set. */
import { describe, expect, test } from "vitest";
import { type Fields, parseFields, type RawFields } from "../../../../core/domain/wire/fields.ts";
import type { Issue } from "../../../../core/domain/wire/issue.ts";
import { saneRequestId } from "../../../../core/domain/wire/request-id.ts";
import {
  cancelFields,
  checkNameFields,
  createKeyFields,
  logsFields,
  restoreVolumeFields,
  resumeFields,
} from "../../../../core/domain/wire/requests.ts";

const issuesIn = (fields: Fields, raw: RawFields) =>
  parseFields(fields, raw).match(
    (): readonly Issue[] => [],
    (issues) => issues,
  );
const issuesOf = (fields: Fields, raw: RawFields) =>
  issuesIn(fields, raw).map(({ path, type }) => [path.join("."), type]);

describe("a lookup accepts any name, with '_' read as '-'", () => {
  test("accepts any text: an invalid name has no owner", () => {
    expect(parseFields(checkNameFields, { name: "My_App!" })._unsafeUnwrap().name).toBe("My-App!");
    expect(issuesOf(checkNameFields, { name: "" })).toEqual([]);
  });
  test("a name is required", () => {
    expect(issuesOf(checkNameFields, {})).toEqual([["name", "missing"]]);
    expect(issuesOf(checkNameFields, { name: 5 })).toEqual([["name", "string_type"]]);
  });
});

describe("logs", () => {
  const app = { deployment_name: "app" };
  test("limits", () => {
    expect(parseFields(logsFields, app)._unsafeUnwrap().limit).toBe(100);
    for (const limit of [1, 1000, "1000"]) expect(issuesOf(logsFields, { ...app, limit })).toEqual([]);
    expect(issuesOf(logsFields, { ...app, limit: 0 })).toEqual([["limit", "greater_than_equal"]]);
    expect(issuesOf(logsFields, { ...app, limit: 1001 })).toEqual([["limit", "less_than_equal"]]);
  });

  test("since is a date-time with an offset, or a cursor", () => {
    for (const since of [null, "2026-01-31T09:00:00Z", "2026-01-31T09:00:00.1234567890000000001+00:00"])
      expect(issuesOf(logsFields, { ...app, since })).toEqual([]);
    for (const since of ["", "yesterday", "2026-01-31T09:00:00"])
      expect(issuesOf(logsFields, { ...app, since })).toEqual([["since", "datetime_parsing"]]);
    expect(issuesOf(logsFields, { ...app, since: 5 })).toEqual([["since", "string_type"]]);
  });

  test("a filter has at most 20,000 characters", () => {
    expect(issuesOf(logsFields, { ...app, query: "x".repeat(20_000) })).toEqual([]);
    expect(issuesOf(logsFields, { ...app, query: "x".repeat(20_001) })).toEqual([["query", "string_too_long"]]);
  });
});

test("resuming begins after the last record seen", () => {
  expect(parseFields(resumeFields, { deploy_id: "d" })._unsafeUnwrap()).toEqual({ deploy_id: "d", after: 0 });
  expect(parseFields(resumeFields, { deploy_id: "d", after: "12" })._unsafeUnwrap().after).toBe(12);
  expect(issuesOf(resumeFields, { deploy_id: "d", after: "-1" })).toEqual([["after", "greater_than_equal"]]);
});

test("the message states what a field must be", () => {
  const words = (fields: Fields, raw: RawFields) => issuesIn(fields, raw).map(({ message }) => message);
  expect(words(cancelFields, {})).toEqual(["is required"]);
  expect(words(cancelFields, { deploy_id: 5 })).toEqual(["must be a string"]);
  expect(words(cancelFields, { deploy_id: "" })).toEqual(["must not be empty"]);
  expect(words(cancelFields, { deploy_id: "d".repeat(65) })).toEqual(["must be at most 64 characters"]);
  expect(words(checkNameFields, {})).toEqual(["is required"]);
  expect(words(checkNameFields, { name: 5 })).toEqual(["must be a string; got 5"]);
  expect(words(restoreVolumeFields, { name: "data", id: 5 })).toEqual(["must be a string"]);
  expect(words(logsFields, { deployment_name: "app", since: "yesterday" })).toEqual([
    "must be an RFC 3339 date-time with an offset, such as '2026-01-31T09:00:00Z'",
  ]);
  expect(words(logsFields, { deployment_name: "app", query: 5 })).toEqual(["must be a string"]);
  expect(words(logsFields, { deployment_name: "app", query: "x".repeat(20_001) })).toEqual([
    "must be at most 20000 characters",
  ]);
});

test("ids and labels have a minimum and a maximum length", () => {
  expect(issuesOf(cancelFields, { deploy_id: "" })).toEqual([["deploy_id", "string_too_short"]]);
  expect(issuesOf(cancelFields, { deploy_id: "d".repeat(65) })).toEqual([["deploy_id", "string_too_long"]]);
  expect(issuesOf(createKeyFields, { label: "l".repeat(100) })).toEqual([]);
  expect(issuesOf(createKeyFields, { label: "l".repeat(101) })).toEqual([["label", "string_too_long"]]);
  expect(issuesOf(createKeyFields, { label: null })).toEqual([["label", "string_type"]]);
});

describe("a client's request id", () => {
  test.each(["a", "req-1", "trace/1:2+3=4_5.6", "a".repeat(128)])("keeps %s", (id) =>
    expect(saneRequestId(id)).toBe(id),
  );
  test.each([undefined, "", "a".repeat(129), "a b", "a\nb", "é", '"', ["a"]])("does not keep %j", (id) =>
    expect(saneRequestId(id)).toBeUndefined(),
  );
});
