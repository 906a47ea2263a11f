/** "Did you mean ...?" helps with typing errors and keeps quiet otherwise. */
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
])("'%s' is near %s", (word, expected) => expect(closest(word, words)).toBe(expected));

test("the nearest wins", () => expect(closest("abcdef", ["abcxyz", "abcdeg", "abcdxx"])).toBe("abcdeg"));
