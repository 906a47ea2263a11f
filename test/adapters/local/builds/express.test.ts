/** An unmodified Express application with its lock file, from the real registry. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { runners, startLocal } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const folder = join(import.meta.dirname, "..", "..", "..", "fixtures", "express-app");
const files = Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));

test.for(runners)("installs what the lock file lists, and responds (%s)", async (runner, context) => {
  needs(context, "registry");
  await using platform = await startLocal({ runner });
  const url = await platform.up(sourceOf(files));
  expect(await (await fetch(url)).text()).toBe("Hello World!");
  const echo = { method: "POST", headers: { "content-type": "application/json" }, body: '{"a":[1,"é"]}' };
  expect(await (await fetch(`${url}/echo`, echo)).json()).toEqual({ a: [1, "é"] });
  expect((await fetch(`${url}/nowhere`)).status).toBe(404);
});

test("the lock file names no registry, so it works with any", () => {
  expect(files["package-lock.json"]).not.toMatch(/"resolved"|https?:\/\/registry/);
  expect(files["package-lock.json"]).toContain('"integrity"');
});
