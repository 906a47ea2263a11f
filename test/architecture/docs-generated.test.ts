/** Pages that are made from the code say what the code says. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pages } from "../../docs/generate.ts";

test.each(Object.entries(await pages()))("%s is as `npm run docs` makes it", (path, text) => {
  expect(readFileSync(path, "utf8")).toBe(text);
});
