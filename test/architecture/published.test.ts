/** `portside/testing` exports every name of `suites.ts`. It repeats the names, because it imports that file late. */
import { expect, test } from "vitest";

test("the names are equal", async () => {
  const [published, suites] = await Promise.all([import("../published.ts"), import("../suites.ts")]);
  expect(Object.keys(published).sort()).toEqual(Object.keys(suites).sort());
  for (const [name, value] of Object.entries(published)) expect(value, name).toBe(Reflect.get(suites, name));
});
