/** The subset of TOML that project files use, and hostile texts. */
import { describe, expect, test } from "vitest";
import {
  readToml,
  type TomlValue,
  tomlList,
  tomlTable,
  tomlText,
} from "../../../../../core/domain/deploy/source/toml.ts";

const plain = (value: TomlValue): unknown => {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, inner]) => [key, plain(inner)]));
  return Array.isArray(value) ? value.map(plain) : value;
};
const read = (text: string) => {
  const found = readToml(text);
  return "table" in found ? plain(found.table) : found;
};

test.each([
  ["", {}],
  ["# nothing\n\n", {}],
  ['a = "b" # c\r\n', { a: "b" }],
  ["a = 'b\\n'", { a: "b\\n" }],
  ['a = "q\\" t\\t \\u00e9 \\U0001F600"', { a: 'q" t\t é 😀' }],
  ['a = """\nx "y" z\n"""', { a: '\nx "y" z\n' }],
  ["a = '''x 'y' \\z'''", { a: "x 'y' \\z" }],
  ['a = ""\nb = 1\nc = true\nd = 2026-11-25', { a: "", b: "1", c: "true", d: "2026-11-25" }],
  ['a.b.c = 1\na."d e" = 2', { a: { b: { c: "1" }, "d e": "2" } }],
  ['[a]\nb = [ "x", # one\n  "y",\n]\n[a.c]\nd = 1', { a: { b: ["x", "y"], c: { d: "1" } } }],
  ['[[p]]\nn = "a"\n[p.s]\nu = "v"\n[[p]]\nn = "b"', { p: [{ n: "a", s: { u: "v" } }, { n: "b" }] }],
  ['a = { b = "c", d = [ { e = "f" } ] }', { a: { b: "c", d: [{ e: "f" }] } }],
  [
    "__proto__ = 1\n[constructor]\nx = 1",
    Object.fromEntries([
      ["__proto__", "1"],
      ["constructor", { x: "1" }],
    ]),
  ],
])("reads %j", (text, value) => expect(read(text)).toEqual(value));

test.each([
  ["a", 1],
  ["a = ", 1],
  ['a = "b\nc = 1', 1],
  ['x = 1\na = """b\n', 3],
  ["a = [1, 2", 1],
  ["x = 1\n\na = 1 b = 2", 3],
  ["[a", 1],
  ["[[a]\nb = 1", 1],
  ["a = 1\na.b = 2", 2],
  ["a = 1\n[[a]]", 2],
  ['a = "\\UFFFFFFFF"', 1],
])("reports the line of the error in %j", (text, flawedLine) => expect(read(text)).toEqual({ flawedLine }));

test("throws if the reader itself fails, instead of reporting an error in the text", () => {
  const startsWith = () => {
    throw new RangeError("a bug");
  };
  expect(() => readToml({ startsWith, slice: () => "" } as unknown as string)).toThrow("a bug");
});

test("finds values by key, and nothing if the value has a different type", () => {
  const found = readToml('[a]\nt = "x"\nl = ["y"]\n');
  if (!("table" in found)) throw new Error("not read");
  expect(tomlText(found.table, "a", "t")).toBe("x");
  expect(tomlText(found.table, "a", "l")).toBeUndefined();
  expect(tomlList(found.table, "a", "l")).toEqual(["y"]);
  expect(tomlList(found.table, "a", "t")).toEqual([]);
  expect(tomlTable(found.table, "a", "t", "x")).toBeUndefined();
});

// Each of these texts would take minutes or hours with a reader that looks ahead from every character.
describe("reads hostile texts in bounded time", () => {
  const MANY = 1_000_000;
  test.each([
    ["quotes", '"'.repeat(MANY)],
    ["apostrophes", "'".repeat(MANY)],
    ["brackets", "[".repeat(MANY)],
    ["brackets in a value", `a = ${"[".repeat(MANY)}`],
    ["braces in a value", `a = ${"{b=".repeat(MANY)}`],
    ["openings of long strings", `a = ${'"""x'.repeat(MANY / 4)}`],
    ["unterminated strings", 'a = "x\n'.repeat(MANY / 8)],
    ["dots", `a${".a".repeat(MANY / 2)} = 1`],
    ["spaces", `a${" ".repeat(MANY)}b`],
    ["comments", "#".repeat(MANY)],
    ["array elements", `a = [${'"x",'.repeat(MANY / 4)}]`],
    ["array tables", "[[a]]\n".repeat(MANY / 6)],
    ["backslashes", `a = "${"\\".repeat(MANY)}`],
  ])("%s", (_what, text) => {
    const found = readToml(text);
    expect("table" in found || found.flawedLine > 0).toBe(true);
  });
});
