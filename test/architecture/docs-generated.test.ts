/** Generated pages match the code. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pages } from "../../docs/generate.ts";

test.each(Object.entries(await pages()))("%s matches the output of `npm run docs`", (path, text) => {
  expect(readFileSync(path, "utf8")).toBe(text);
});
