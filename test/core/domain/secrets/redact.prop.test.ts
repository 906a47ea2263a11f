/** Redaction: no form of a value remains in a text, and other text stays. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Redactor } from "../../../../core/domain/secrets/redact.ts";
import { secretValue } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const redacts = (...values: string[]) => {
  const redactor = new Redactor(values);
  return (text: string) => redactor.redact(text, Number.POSITIVE_INFINITY);
};

const formsOf = (value: string): string[] => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
  new URLSearchParams({ k: value }).toString().slice(2),
  Buffer.from(value).toString("base64"),
  Buffer.from(value).toString("base64url"),
];

test("removes a value in plain text, in quotes, in a URL and in base64", () => {
  fc.assert(
    fc.property(secretValue(), fc.nat(), (value, pick) => {
      const forms = formsOf(value).filter((form) => form.replace(/=+$/, "").length >= 4);
      const form = forms[pick % Math.max(1, forms.length)];
      if (form === undefined) return;
      const redacted = redacts(value)(`<<${form}>>`);
      expect(redacted.replace(/=+>>$/, ">>")).toMatch(/^<<(\[secret\]|[\s\S]{1,3})+>>$/);
      expect(redacted).toContain("[secret]");
    }),
    runs(500),
  );
});

test("removes each long line of a value with several lines", () => {
  const redact = redacts("-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nMIIEvQIBADANBgk\n-----END KEY-----");
  expect(["MIIEvQIBADANBgkq", "MIIEvQIBADANBgk", "x -----END KEY----- y"].map(redact)).toEqual([
    "[secret]",
    "MIIEvQIBADANBgk",
    "x [secret] y",
  ]);
});

test("removes only the 1000 longest lines of all values", () => {
  const lines = Array.from({ length: 1001 }, (_, index) => `${index}`.padStart(16 + (index % 2), "-"));
  const redact = redacts(lines.slice(0, 500).join("\n"), lines.slice(500).join("\r\n"));
  expect(lines.map(redact).filter((line) => line !== "[secret]")).toEqual([lines[1000]]);
});

test("removes values that contain or overlap each other", () => {
  expect(redacts("pass", "password")("password pass")).toBe("[secret] [secret]");
  expect(redacts("abcdef", "defghi")("abcdefghi")).toBe("[secret]");
});

test("removes a value at the cut, and nothing after the cut is in the result", () => {
  const value = secretValue().filter((text) => text.length >= 4);
  fc.assert(
    fc.property(value, fc.nat({ max: 100 }), fc.nat({ max: 100 }), (text, before, max) => {
      const redacted = new Redactor([text]).redact(`${".".repeat(before)}${text}${",".repeat(100)}`, max);
      const kept = ".".repeat(Math.min(before, max));
      const after = ",".repeat(Math.max(0, max - before - text.length));
      if (!text.includes(".") && !text.includes(","))
        expect(redacted).toBe(before < max ? `${kept}[secret]${after}` : kept);
    }),
    runs(300),
  );
});

test("names the bytes of the longest form", () => {
  expect(new Redactor(["ä", "ääää"]).longestBytes).toBe("%C3%A4".length * 4);
  expect(new Redactor([]).longestBytes).toBe(0);
});

test("leaves other text, and values of less than four characters", () => {
  expect(redacts("abc")("abc listens on 8080")).toBe("abc listens on 8080");
  expect(redacts()("any text")).toBe("any text");
});
