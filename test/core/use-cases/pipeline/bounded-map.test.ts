/** Which values a bounded map discards. */
import { expect, test } from "vitest";
import { BoundedMap } from "../../../../core/use-cases/pipeline/bounded-map.ts";

const keysOf = (map: BoundedMap<string>, ...keys: string[]) => keys.filter((key) => map.get(key) !== undefined);

test("discards the oldest values when their total size exceeds the limit", () => {
  const map = new BoundedMap<string>(10, ({ length }) => length);
  map.set("a", "aaaa");
  map.set("b", "bbbb");
  map.set("c", "cc");
  expect(keysOf(map, "a", "b", "c")).toEqual(["a", "b", "c"]);
  map.set("d", "dddd");
  expect(keysOf(map, "a", "b", "c", "d")).toEqual(["b", "c", "d"]);
  map.set("e", "e".repeat(11));
  expect(keysOf(map, "a", "b", "c", "d", "e")).toEqual([]);
});

test("a replaced value counts once, and is the newest", () => {
  const map = new BoundedMap<string>(10, ({ length }) => length);
  map.set("a", "aaaa");
  map.set("b", "bbbb");
  map.set("a", "aaaaaa");
  expect(keysOf(map, "a", "b")).toEqual(["a", "b"]);
  map.set("c", "c");
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual(["aaaaaa", undefined, "c"]);
});
