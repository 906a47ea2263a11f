/** Strict JSON compared with `JSON.parse`: equal if no key repeats, rejected if one does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseStrictJson } from "../../../../core/domain/wire/strict-json.ts";
import { nastyString } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const spaces = fc.constantFrom(undefined, 1, "\t");

test("agrees with JSON.parse if no key repeats", () => {
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: "medium" }), spaces, (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      expect(parseStrictJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
    }),
    runs(500),
  );
});

test("agrees with JSON.parse about invalid JSON", () => {
  const almost = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom(...'{}[]",:\\0 x'))
    .map(([text, at, mark]) => text.slice(0, at % (text.length + 1)) + mark + text.slice(at % (text.length + 1)));
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.oneof(almost, nastyString()), (text) => {
      const read = parseStrictJson(text);
      if (read.ok) expect(read.value).toEqual(JSON.parse(text));
      else expect(parses(text) && !/repeats the key|nested deeper/.test(read.message)).toBe(false);
    }),
    runs(1000),
  );
});

/** JSON text as a tree that may have a key twice, which no JavaScript object can. */
type Node = { readonly pairs: readonly (readonly [string, Node])[] } | { readonly items: readonly Node[] } | string;

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.jsonValue({ maxDepth: 0 }).map((value) => JSON.stringify(value)),
    fc.record({ items: fc.array(tie("node"), { maxLength: 4 }) }),
    fc.record({
      pairs: fc.array(fc.tuple(fc.oneof(fc.constantFrom("a", "b", "__proto__", '"', "\\"), fc.string()), tie("node")), {
        maxLength: 4,
      }),
    }),
  ),
}));

const repeats = (one: Node): boolean => {
  if (typeof one === "string") return false;
  if ("items" in one) return one.items.some(repeats);
  const keys = one.pairs.map(([key]) => key);
  return new Set(keys).size < keys.length || one.pairs.some(([, inner]) => repeats(inner));
};

/** Every character of a key may be an escape; the key stays the same. */
const keyText = (key: string, escaped: boolean): string =>
  escaped
    ? `"${[...key.split("")].map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`
    : JSON.stringify(key);

const textOf = (one: Node, escaped: () => boolean): string => {
  if (typeof one === "string") return one;
  if ("items" in one) return `[${one.items.map((item) => textOf(item, escaped)).join(" , ")}]`;
  return `{${one.pairs.map(([key, inner]) => `${keyText(key, escaped())} :${textOf(inner, escaped)}`).join(",")}}`;
};

test("finds a repeated key at any depth and in any notation, and only then", () => {
  fc.assert(
    fc.property(node, fc.infiniteStream(fc.boolean()), (tree, flips) => {
      const text = textOf(tree, () => flips.next().value === true);
      expect(parseStrictJson(text).ok).toBe(!repeats(tree));
    }),
    runs(1000),
  );
});
