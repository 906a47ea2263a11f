/** Node's compile cache: filled by the build from the installed packages, and read by each start of the service. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { type Registry, serveRegistry } from "../../../support/archives/npm-registry.ts";
import { principalOf, runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

let registry: Registry;
beforeAll(async () => {
  registry = await serveRegistry({
    both: {
      version: "1.0.0",
      files: {
        "package.json": JSON.stringify({
          name: "both",
          version: "1.0.0",
          exports: { import: "./index.mjs", require: "./index.cjs" },
        }),
        "index.cjs": "module.exports = 1;",
        "index.mjs": "export default 1;",
      },
    },
    command: {
      version: "1.0.0",
      files: {
        "index.js": `process.argv.includes("command") ? process.exit() : require("./library.js");`,
        "library.js": "module.exports = 1;",
      },
    },
    writes: { version: "1.0.0", files: { "index.js": `require("node:fs").writeFileSync("changed", "");` } },
    spawns: {
      version: "1.0.0",
      files: { "index.js": `require("node:child_process").spawnSync("sh", ["-c", "echo > changed"]);` },
    },
    prints: { version: "1.0.0", files: { "index.js": `for (let i = 0; i < 1e4; i++) console.log("printed");` } },
    serves: { version: "1.0.0", files: { "index.js": `require("node:http").createServer().listen(0);` } },
    needy: { version: "1.0.0", files: { "index.js": "process.env.NEEDED.trim();" } },
    exits: { version: "1.0.0", files: { "index.js": "process.exit(3);" } },
    hangs: { version: "1.0.0", files: { "index.js": "for (;;);" } },
    waits: {
      version: "1.0.0",
      files: {
        "package.json": JSON.stringify({ name: "waits", version: "1.0.0", exports: "./index.mjs" }),
        "index.mjs": "await new Promise(() => {});",
      },
    },
  });
});
afterAll(() => registry[Symbol.asyncDispose]());

interface ServiceView {
  /** Whether a package changed the source's folder during the build. */
  readonly changed: boolean;
  /** The value of NODE_COMPILE_CACHE. */
  readonly variable: string;
  /** The folder of the cache; undefined if the cache is disabled. */
  readonly folder?: string;
  /** Whether the service can write to the folder. */
  readonly writable: boolean;
}

const server = (importing: string): string => `
import { accessSync, constants, existsSync } from "node:fs";
import { createServer } from "node:http";
import { getCompileCacheDir } from "node:module";
${importing}
const folder = getCompileCacheDir();
let writable = true;
try { accessSync(folder, constants.W_OK); } catch { writable = false; }
const view = { changed: existsSync("changed"), variable: process.env.NODE_COMPILE_CACHE, folder, writable };
createServer((_request, response) => response.end(JSON.stringify(view))).listen(process.env.PORT);`;

/** The same server as a CommonJS module. */
const commonServer = (importing: string): string =>
  server(importing).replaceAll(/^import (.*) from (.*);$/gm, "const $1 = require($2);");

const source = (
  dependencies: Readonly<Record<string, string>>,
  main: string,
  files: Readonly<Record<string, string>> = {},
  manifest: object = {},
): Uint8Array =>
  sourceOf({ "package.json": JSON.stringify({ name: "app", dependencies, ...manifest }), "server.js": main, ...files });

const start = (runner: (typeof runners)[number]): Promise<TestPlatform> =>
  startLocal({ runner }, {}, { environment: { ...process.env, npm_config_registry: registry.url } });

const look = async (url: string): Promise<ServiceView> => (await (await fetch(url)).json()) as ServiceView;

/** Makes Node print its use of the compile cache. */
const printed = { NODE_DEBUG_NATIVE: "COMPILE_CACHE" };

const logOf = async ({ controlPlane }: TestPlatform): Promise<string> => {
  const read = await controlPlane.readLogs(principalOf("acme"), { deployment_name: "app", limit: 1000 });
  return read
    ._unsafeUnwrap()
    .logs.map(({ message }) => message)
    .join("\n");
};

/** Waits until Node has logged a message about its cache. */
const waitForLog = (platform: TestPlatform, message: RegExp): Promise<void> =>
  expect.poll(() => logOf(platform)).toMatch(message);

/** Waits until Node has logged what it did with the cached code of a module. */
const waitForUse = (platform: TestPlatform, path: string, use: "accepted" | "not initialized"): Promise<void> =>
  waitForLog(platform, new RegExp(`${path} was ${use}`));

/** Packages that must not break a build when it imports them. */
const hostile = { needy: "1.0.0", prints: "1.0.0", serves: "1.0.0", spawns: "1.0.0", writes: "1.0.0" };

const expectStart = async (platform: TestPlatform, last: "exits" | "hangs"): Promise<void> => {
  const dependencies = { ...hostile, both: "1.0.0", [last]: "1.0.0" };
  const records = await platform.deploy(source(dependencies, commonServer(`require("both");`)), { env: printed });
  expect(records.map(({ message }) => message)).not.toContain("printed");
  const { status, url = "" } = records.at(-1) ?? {};
  expect(status).toBe("DONE");
  expect((await look(url)).changed).toBe(false);
  await waitForUse(platform, "node_modules/both/index.cjs", "accepted");
};

describe.each(runners)("%s", (runner) => {
  test("starts a service with the code that the build compiled", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    const common = source({ both: "1.0.0", command: "1.0.0" }, commonServer(`require("both"); require("command");`));
    await platform.up(common, { env: printed });
    await waitForUse(platform, "node_modules/both/index.cjs", "accepted");
    await waitForUse(platform, "node_modules/command/library.js", "accepted");
    const dependencies = { both: "1.0.0", waits: "1.0.0" };
    await platform.up(source(dependencies, server(`await import("both");`), {}, { type: "module" }), { env: printed });
    await waitForUse(platform, "node_modules/both/index.mjs", "accepted");
  });

  test("caches no code of the source", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    const local = {
      "local/package.json": JSON.stringify({ name: "local", version: "1.0.0" }),
      "local/index.js": "module.exports = 1;",
    };
    const dependencies = { both: "1.0.0", local: "file:./local" };
    await platform.up(source(dependencies, commonServer(`require("both"); require("local");`), local), {
      env: printed,
    });
    await waitForUse(platform, "node_modules/both/index.cjs", "accepted");
    await waitForUse(platform, "local/index.js", "not initialized");
    await waitForUse(platform, "server.js", "not initialized");
  });

  test("starts a service whose packages fail, print, listen, write or end the process when imported", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    await expectStart(platform, "exits");
  });

  test("ignores code that Node compiled with different options", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    const one = source({ both: "1.0.0" }, commonServer(`require("both");`));
    await platform.up(one, { env: { ...printed, NODE_OPTIONS: "--expose-gc" } });
    // Node cannot create another folder in a sandbox.
    await waitForLog(platform, /both\/index.cjs was not initialized|Cannot create cache directory/);
  });

  test("ignores damaged code", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    const one = source({ both: "1.0.0" }, commonServer(`require("both");`));
    await platform.up(one);
    const files = globSync(join(platform.dataDir, "images/*/*/app/node_modules/.compile-cache/*/*"));
    expect(files).not.toEqual([]);
    for (const file of files) writeFileSync(file, readFileSync(file).reverse());
    await platform.up(one, { env: printed });
    await waitForUse(platform, "node_modules/both/index.cjs", "not initialized");
  });

  test("the service's environment can replace or disable the cache", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    const one = source({ both: "1.0.0" }, commonServer(""));
    const initial = await look(await platform.up(one));
    expect(initial.folder).toContain("/node_modules/.compile-cache/");
    expect(initial.writable).toBe(runner === "process");
    const own = await look(await platform.up(one, { env: { NODE_COMPILE_CACHE: "/dev/null/own" } }));
    expect(own.variable).toBe("/dev/null/own");
    const none = await look(await platform.up(one, { env: { NODE_DISABLE_COMPILE_CACHE: "1" } }));
    expect(none.folder).toBeUndefined();
  });
});

test("starts a service with a package whose import does not end", async (context) => {
  needs(context, "npm");
  await using platform = await start(runners[0] ?? "process");
  await expectStart(platform, "hangs");
});
