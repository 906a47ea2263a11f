/**
 * `portside/testing` exports everything that its parts publish, although it lists the names again to load them late.
 */
import { expect, test } from "vitest";

test("the names are equal", async () => {
  const [published, suites] = await Promise.all([import("../published.ts"), import("../suites.ts")]);
  expect(Object.keys(published).sort()).toEqual(Object.keys(suites).sort());
  for (const [name, value] of Object.entries(published)) expect(value, name).toBe(Reflect.get(suites, name));
});
