import { expect, test } from "vitest";
import { quoteForShell } from "../../../../../core/domain/deploy/source/quote-for-shell.ts";

test.each([
  ["server.js", "'server.js'"],
  ["", "''"],
  ["it's", String.raw`'it'\''s'`],
  ['$HOME `id` "x" \\ \n', "'$HOME `id` \"x\" \\ \n'"],
])("quotes %j as one word", (text, quoted) => {
  expect(quoteForShell(text)).toBe(quoted);
});
