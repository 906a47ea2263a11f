/** The entries that the log's page holds. */
import { expect, test } from "vitest";
import { type Entry, EntryList, followFrom, jsonOf, lineOf } from "../../../../hosts/console/logs/entries.ts";

const entry = (id: number, message = ""): Entry => ({
  timestamp: "2026-01-01T00:00:00+00:00",
  severity: "INFO",
  message,
  log_name: "stdout",
  insert_id: `id-${String(id).padStart(4, "0")}`,
});
const entries = (...ids: number[]) => ids.map((id) => entry(id));
const idsOf = (list: EntryList) => list.entries.map(({ insert_id: id }) => Number(id.slice(3)));

test("adds only newer entries at the end, although older ones share their time", () => {
  const list = new EntryList();
  list.append(entries(5, 6));
  expect(list.append(entries(1, 2, 5, 6, 7))).toBe(1);
  expect(idsOf(list)).toEqual([5, 6, 7]);
});

test("adds only older entries at the beginning", () => {
  const list = new EntryList();
  list.prepend(entries(5, 6));
  expect(list.prepend(entries(3, 4, 5))).toBe(2);
  expect(idsOf(list)).toEqual([3, 4, 5, 6]);
});

test("drops the oldest entries above the maximum", () => {
  const list = new EntryList();
  list.append(entries(...Array.from({ length: 11 }, (_, at) => at)));
  expect(list.trim(11)).toBe(false);
  expect(list.trim(10)).toBe(true);
  expect(idsOf(list)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
});

test("follows from before the newest entry, and from the newest entries if there are none", () => {
  expect(followFrom("2026-01-01T00:00:05.123456789+00:00")).toBe("2026-01-01T00:00:04.123Z");
  expect(followFrom(undefined)).toBeUndefined();
});

test.each([
  ["plain", undefined],
  ["{not json", undefined],
  ["[1]", undefined],
  ['{"a":1}', { a: 1 }],
])("reads the JSON object of '%s'", (message, json) => {
  expect(jsonOf(message)).toEqual(json);
});

test("shows an entry as one line, with the fields of a structured entry after its message", () => {
  expect(lineOf(entry(1, "two\nlines"))).toEqual({ text: "two⏎lines", fields: "" });
  expect(lineOf(entry(1, '{"message":"order","user":"ada","note":"a b","n":{"x":1}}'))).toEqual({
    text: "order",
    fields: 'user=ada note="a b" n={"x":1}',
  });
  expect(lineOf(entry(1, '{"status":200}')).text).toBe('{"status":200}');
  expect(lineOf(entry(1, "x".repeat(5000))).text.length).toBeLessThan(1000);
});
