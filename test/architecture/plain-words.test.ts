/** Comments, messages, test names and pages are in plain English: no phrase of `plain-words.ts` occurs in them. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { allowed, markedPhrases, markers } from "./plain-words.ts";

// Entries of the changelog describe earlier releases, so they are not rewritten.
const files = globSync(["{core,adapters,hosts,test,docs,examples,.ci}/**/*.{ts,mjs,md}", "*.{ts,md}"]).filter(
  (path) =>
    !/node_modules|plain-words|\.vitepress\/(?:cache|dist)|^CHANGELOG|^docs\/(?:exports\/|guides\/examples\.md)/.test(
      path,
    ),
);

test.each(markers)("finds: $example", ({ phrase, example }) => {
  expect(example).toMatch(new RegExp(`\\b(?:${phrase})`, "i"));
  expect(markedPhrases(example)).not.toEqual([]);
  expect(markedPhrases(`/**\n * ${example.replaceAll(" ", "\n * ")}\n */`), "in a wrapped comment").not.toEqual([]);
});

test.each([
  "The server retries the call.",
  "Returns the volume, or fails with `not_found` if it does not exist.",
  "The caller must close the stream.",
  "Each service has its own network.",
  "A deploy may take 15 minutes.",
  "The log is told apart by its name, henceforth and elsewhere, at one once-a-day time.",
])("finds nothing in: %s", (sentence) => {
  expect(markedPhrases(sentence)).toEqual([]);
});

test("an allowed use has a reason and is still in use", () => {
  const texts = files.map((file) => readFileSync(file, "utf8")).join("\n");
  for (const { text, reason } of allowed) {
    expect(reason).not.toBe("");
    expect(texts).toContain(text);
  }
});

test("no comment, message, test name or page has a marked phrase", () => {
  expect(files.length).toBeGreaterThan(1500);
  const found = files.flatMap((file) =>
    markedPhrases(readFileSync(file, "utf8")).map((text) => `${file}: ...${text}...`),
  );
  expect(found).toEqual([]);
});
