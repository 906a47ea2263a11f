/** `portside/testing` gives everything that its parts publish, though it names it again to load it late. */
import { expect, test } from "vitest";

test("the names are the same", async () => {
  const [published, suites] = await Promise.all([import("../published.ts"), import("../suites.ts")]);
  expect(Object.keys(published).sort()).toEqual(Object.keys(suites).sort());
  for (const [name, value] of Object.entries(published)) expect(value, name).toBe(Reflect.get(suites, name));
});
