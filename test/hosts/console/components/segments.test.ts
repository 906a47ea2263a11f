/** Text of services as segments: colours as class names, and no invisible characters. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { segmentsOf } from "../../../../hosts/console/components/segments.ts";

const plain = (text: string) => ({ text, className: "" });
const control = (text: string) => ({ text, className: "control" });

test("returns plain text as one segment, including markup", () => {
  expect(segmentsOf("<script>alert(1)</script>\n\tend")).toEqual([plain("<script>alert(1)</script>\n\tend")]);
});

test("turns colours and weights into class names until a reset", () => {
  expect(segmentsOf("a\u001b[31;1mred\u001b[22m thin\u001b[0m b")).toEqual([
    plain("a"),
    { text: "red", className: "ansi-31 ansi-bold" },
    { text: " thin", className: "ansi-31" },
    plain(" b"),
  ]);
});

test("skips the parameters of extended colours", () => {
  expect(segmentsOf("\u001b[38;5;31mx\u001b[48;2;1;31;2my")).toEqual([plain("x"), plain("y")]);
});

test("removes other escape sequences, such as cursor movements and titles", () => {
  expect(
    segmentsOf("a\u001b[2Jb\u001b]0;title\u0007c\u001b]8;;http://x\u001b\\d")
      .map(({ text }) => text)
      .join(""),
  ).toBe("abcd");
});

test("makes control characters and characters that reorder text visible", () => {
  expect(segmentsOf("a\u0007b\u202ec\u200bd\u009be")).toEqual([
    ...[plain("a"), control("␇"), plain("b"), control("U+202E")],
    ...[plain("c"), control("U+200B"), plain("d"), control("U+009B"), plain("e")],
  ]);
});

test("returns no invisible character for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const shown = segmentsOf(text)
        .map((one) => one.text)
        .join("");
      expect(shown).not.toMatch(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069\u200b-\u200f]/u);
    }),
  );
});
