/** Scripts are found from the package's own modules, and not from a bundle. */
import { globSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { packagedScript } from "../../../../adapters/shared/runtime/packaged-script.ts";
import { SqlPool } from "../../../../adapters/shared/sql/process/pool.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";

const CALL = /packagedScript\(\s*import\.meta\.url,\s*"([^"]+)",\s*"([^"]+)",?\s*\)/g;

const calls = globSync("adapters/**/*.ts").flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(CALL)].map(([, module = "", script = ""]) => [file, module, script] as const),
);

test("checks every script", () => expect(calls.length).toBeGreaterThanOrEqual(6));

test.each(calls)("%s passes its own path and an existing script", (file, module, script) => {
  expect(`${module}.ts`).toBe(file);
  const url = pathToFileURL(file).href;
  expect(packagedScript(url, module, script)).toEqual(pathToFileURL(`${script}.ts`));
});

test.each([
  ["a CommonJS bundle", undefined],
  ["a bundle", "file:///app/dist/app.js"],
  ["a bundle next to a file of the script's name", new URL("./packaged-script.js", import.meta.url).href],
  ["a build that keeps modules, without the scripts", "file:///app/dist/adapters/local/data-folder/leftovers.js"],
])("returns null for %s", (_what, url) => {
  expect(packagedScript(url, "adapters/local/data-folder/leftovers", "adapters/local/data-folder/sweep")).toBeNull();
});

test("a process without a script fails with a message", async () => {
  const pool = new SqlPool({ script: null, argsOf: () => [], maxProcesses: 1, idleMillis: 1000 });
  const work = pool.with("acme" as AccountId, { timeoutMs: 1000 }, async () => "done");
  await expect(work).rejects.toThrow("Mark 'portside' as external in the bundler (docs/guides/bundling.md).");
  await pool.close();
});
