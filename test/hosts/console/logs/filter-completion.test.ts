/** Completion while a user types a filter. `|` marks the cursor. */
import { expect, test } from "vitest";
import {
  type FilterContext,
  fieldMatches,
  filterContext,
  valuesMatching,
  valueText,
} from "../../../../hosts/console/logs/filter-completion.ts";

const at = (marked: string): FilterContext | undefined => filterContext(marked.replace("|", ""), marked.indexOf("|"));

test.each<[string, FilterContext | undefined]>([
  ["|", { kind: "field", from: 0 }],
  ["jsonPayload.us|", { kind: "field", from: 0 }],
  ["severity>=ERROR AND jso|", { kind: "field", from: 20 }],
  ["(-res|ource", { kind: "field", from: 2 }],
  ["severity>=|", { kind: "value", from: 10, field: "severity", prefix: "" }],
  ["severity = ER|", { kind: "value", from: 11, field: "severity", prefix: "ER" }],
  ['jsonPayload.user="ad|"', { kind: "value", from: 17, field: "jsonPayload.user", prefix: "ad" }],
  ['jsonPayload."a b"."c">="x y|', { kind: "value", from: 23, field: 'jsonPayload."a b"."c"', prefix: "x y" }],
  ['"a free text|', undefined],
  ['"a user=ad|', undefined],
  ['jsonPayload.user="ada"|', undefined],
])("%s", (marked, expected) => {
  expect(at(marked)).toEqual(expected);
});

test("finds a field and a value at the end of a long filter", () => {
  const long = 'a.b="x\\"y" OR '.repeat(1500);
  expect(at(`${long}jsonP|`)).toEqual({ kind: "field", from: long.length });
  expect(at(`${long}user="ad|`)).toEqual({ kind: "value", from: long.length + 5, field: "user", prefix: "ad" });
});

test("quotes text, and omits the closing quote that the editor has added", () => {
  expect(valueText("jsonPayload.user", 'a "b"', "")).toBe('"a \\"b\\""');
  expect(valueText("jsonPayload.user", "ada", '"')).toBe('"ada');
  expect(valueText("severity", "ERROR", "")).toBe("ERROR");
  expect(valueText("jsonPayload.count", 3, "")).toBe("3");
});

test("proposes fields that begin with the typed text, and not every field that contains its letters", () => {
  expect(["", "json", "USER", "jsonPayload.us"].map((typed) => fieldMatches("jsonPayload.user", typed))).toEqual([
    ...[true, true, true, true],
  ]);
  expect(fieldMatches("jsonPayload.user", "old")).toBe(false);
});

test("proposes values that begin with the typed text, and none if the text is complete", () => {
  const options = ["ERROR", '"error page"', "INFO"].map((label) => ({ label }));
  expect(valuesMatching(options, "err")).toEqual([options[0], options[1]]);
  expect(valuesMatching(options, '"E')).toEqual([options[0], options[1]]);
  expect(valuesMatching(options, "ERROR")).toEqual([]);
});
