/**
 * `portside/testing` exports every name of its parts. It repeats the names, because it imports the parts dynamically.
 */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

test("the names are equal", async () => {
  const [published, suites] = await Promise.all([import("../published.ts"), import("../suites.ts")]);
  expect(Object.keys(published).sort()).toEqual(Object.keys(suites).sort());
  for (const [name, value] of Object.entries(published)) expect(value, name).toBe(Reflect.get(suites, name));
});

test("portside/simulation runs a deploy without vitest and fast-check", () => {
  const program = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve: (name, context, next) => {
        if (/^(vitest|fast-check)(\\/|$)/.test(name)) throw new Error("loads " + name);
        return next(name, context);
      },
    });
    const { simulateDeploy } = await import("./test/simulation/index.ts");
    const { records } = await simulateDeploy({ function_name: "app", volumes: {} });
    console.log(records.at(-1).status);`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  expect(stdout.trim(), stderr).toBe("DONE");
});
