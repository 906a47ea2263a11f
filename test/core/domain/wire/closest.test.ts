/** "Did you mean ...?" suggests only likely corrections. */
import { expect, test } from "vitest";
import { closest } from "../../../../core/domain/wire/closest.ts";

const words = ["memory", "cpu", "concurrency", "max_instances", "use_http2"];

test.each([
  ["memroy", "memory"],
  ["Memory", "memory"],
  ["cup", undefined],
  ["cp", "cpu"],
  ["concurency", "concurrency"],
  ["maxInstances", "max_instances"],
  ["use_http", "use_http2"],
  ["volume", undefined],
  ["", undefined],
  ["m".repeat(100), undefined],
])("'%s' is close to %s", (word, expected) => expect(closest(word, words)).toBe(expected));

test("the closest name wins", () => expect(closest("abcdef", ["abcxyz", "abcdeg", "abcdxx"])).toBe("abcdeg"));
