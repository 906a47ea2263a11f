/** Redaction: no form of a value remains in a text, and other text stays. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { redactorOf } from "../../../../core/domain/secrets/redact.ts";
import { secretValue } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

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
      const redacted = redactorOf([value])(`<<${form}>>`);
      expect(redacted.replace(/=+>>$/, ">>")).toMatch(/^<<(\[secret\]|[\s\S]{1,3})+>>$/);
      expect(redacted).toContain("[secret]");
    }),
    runs(500),
  );
});

test("removes each line of a value with several lines", () => {
  const redact = redactorOf(["-----BEGIN KEY-----\nMIIEvQIBADAN\nabc\n-----END KEY-----"]);
  expect(["MIIEvQIBADAN", "abc", "x -----END KEY----- y"].map(redact)).toEqual(["[secret]", "abc", "x [secret] y"]);
});

test("removes a value that contains another one", () => {
  expect(redactorOf(["pass", "password"])("password pass")).toBe("[secret] [secret]");
});

test("leaves other text, and values of less than four characters", () => {
  expect(redactorOf(["abc"])("abc listens on 8080")).toBe("abc listens on 8080");
  expect(redactorOf([])("any text")).toBe("any text");
});
