/** Dependencies of Node.js sources: installed as the lock file says, cached, from the configured registry. */
import { mkdir, readdir, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { type Registry, serveRegistry } from "../../../support/archives/npm-registry.ts";
import { runners, startLocal, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

let registry: Registry;
beforeAll(async () => {
  registry = await serveRegistry({
    greeting: { version: "1.2.3", files: { "index.js": `exports.greet = (name) => "hi " + name;` } },
    stamp: {
      version: "4.0.0",
      files: { "cli.js": `#!/usr/bin/env node\nrequire("fs").writeFileSync("stamp.txt", "stamped");` },
    },
  });
});
afterAll(() => registry[Symbol.asyncDispose]());

const server = `
const { existsSync, readFileSync } = require("node:fs");
const { greet } = require("greeting");
const has = (path) => existsSync(path);
require("node:http").createServer((request, response) => response.end(JSON.stringify({
  greeting: greet("you"), stamp: has("stamp.txt") && readFileSync("stamp.txt", "utf8"), tool: has("node_modules/stamp"),
}))).listen(process.env.PORT);`;

interface Change {
  readonly manifest?: Readonly<Record<string, unknown>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly locked?: boolean;
}

const source = ({ manifest = {}, files = {}, locked = true }: Change = {}): Uint8Array => {
  const dependencies = { greeting: "^1.0.0" };
  const dev = (manifest["devDependencies"] ?? {}) as Record<string, string>;
  const described = { name: "test", scripts: { start: "node server.js" }, dependencies, ...manifest };
  return sourceOf({
    "package.json": JSON.stringify(described),
    ...(locked ? { "package-lock.json": registry.lockFor(dependencies, dev) } : {}),
    "server.js": server,
    ...files,
  });
};

const start = (runner: (typeof runners)[number]): Promise<TestPlatform> =>
  startLocal({ runner }, {}, { environment: { ...process.env, npm_config_registry: registry.url } });

const outputOf = async (deploy: ReturnType<TestPlatform["deploy"]>) => {
  const records = await deploy;
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  return records.map(({ message }) => message).join("\n");
};

const archives = () => registry.asked.filter((path) => path.endsWith(".tgz")).length;

describe.each(runners)("%s", (runner) => {
  test("installs what the lock file lists, and caches the result by the file's hash", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    const before = archives();
    expect(await outputOf(platform.deploy(source()))).toContain("Installing dependencies from package-lock.json");
    expect(archives()).toBe(before + 1);
    const other = source({ files: { "more.txt": "another source with the same lock file" } });
    const again = await outputOf(platform.deploy(other));
    expect(again).toContain("Using cached dependencies for package-lock.json");
    expect(archives()).toBe(before + 1);
    const settings = source({ files: { ".npmrc": "fund=false\n" } });
    expect(await outputOf(platform.deploy(settings)), "npm's settings may change it").toContain(
      "Installing dependencies",
    );
    const theirs = await outputOf(platform.deploy(source(), { function_name: "theirs" }, "others"));
    expect(theirs, "nothing is shared between accounts").toContain("Installing dependencies");
  });

  test("fails with npm's message if the lock file does not match package.json", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    // Caches the lock file's dependencies first, because the build must fail even then.
    await outputOf(platform.deploy(source()));
    const changed = source({ manifest: { dependencies: { greeting: "^1.0.0", stamp: "^4.0.0" } } });
    const records = await platform.deploy(changed);
    const last = records.at(-1);
    expect(last).toMatchObject({ status: "ERROR", reason: "build_failed", exit_code: 1 });
    expect(last?.message).toContain("npm ci ended with exit code 1");
    expect(last?.log_tail?.length).toBeGreaterThan(5);
    // npm prints its usage afterwards, so the reason comes before the last lines.
    expect(records.map(({ message }) => message).join("\n")).toContain("in sync");
  });

  test("provides development dependencies to the build only", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    const built = source({
      manifest: { scripts: { start: "node server.js", build: "stamp" }, devDependencies: { stamp: "^4.0.0" } },
    });
    const url = await platform.up(built);
    expect(await (await fetch(url)).json()).toEqual({ greeting: "hi you", stamp: "stamped", tool: false });
  });

  test("two concurrent builds with the same dependencies install them once", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    const before = archives();
    const sources = ["a", "b"].map((name) => source({ files: { [`${name}.txt`]: name } }));
    const deploys = sources.map((one, index) => outputOf(platform.deploy(one, { function_name: `app-${index}` })));
    const outputs = await Promise.all(deploys);
    expect(outputs.filter((text) => text.includes("Using cached dependencies")).length).toBe(1);
    expect(archives()).toBe(before + 1);
  });

  test("builds without a lock file, with a warning", async (context) => {
    needs(context, "npm");
    await using platform = await start(runner);
    expect(await outputOf(platform.deploy(source({ locked: false })))).toContain("warning: no package-lock.json");
    const bun = source({ locked: false, files: { "bun.lock": "{}" } });
    expect(await outputOf(platform.deploy(bun))).toContain("warning: bun.lock is not supported");
  });
});

test("sweeps partial caches at startup, and keeps complete ones", async (context) => {
  needs(context, "npm");
  // Removed after the second platform has closed.
  using data = folderWith();
  const dataDir = data.path;
  const environment = { ...process.env, npm_config_registry: registry.url };
  const first = await startLocalIn(dataDir, { runner: "process" }, {}, { environment });
  await outputOf(first.deploy(source()));
  await first[Symbol.asyncDispose]();
  const [account] = await readdir(join(dataDir, "cache"));
  const folder = join(dataDir, "cache", account as string, "node_modules");
  const [kept] = await readdir(folder);
  await mkdir(join(folder, "0123.partial", "greeting"), { recursive: true });
  await using second = await startLocalIn(dataDir, { runner: "process" }, {}, { environment });
  expect(await readdir(folder)).toEqual([kept]);
  const other = source({ files: { "more.txt": "more" } });
  expect(await outputOf(second.deploy(other))).toContain("Using cached dependencies");
});

test("installs again if cached dependencies have lost files", async (context) => {
  needs(context, "npm");
  await using platform = await start("process");
  await outputOf(platform.deploy(source()));
  const [account] = await readdir(join(platform.dataDir, "cache"));
  const folder = join(platform.dataDir, "cache", account as string, "node_modules");
  const losses: readonly ((kept: string) => Promise<void>)[] = [
    async (kept) => {
      await rm(kept, { recursive: true });
      await mkdir(kept);
    },
    (kept) => rm(join(kept, "greeting", "package.json")),
    (kept) => truncate(join(kept, "greeting", "package.json"), 1),
  ];
  for (const [index, lose] of losses.entries()) {
    const [kept] = await readdir(folder);
    await lose(join(folder, kept as string));
    const url = await platform.up(source({ files: { "more.txt": `${index}` } }));
    expect(await (await fetch(url)).json()).toMatchObject({ greeting: "hi you" });
    expect(await readdir(folder)).toEqual([kept]);
  }
  expect(await outputOf(platform.deploy(source({ files: { "more.txt": "last" } })))).toContain(
    "Using cached dependencies",
  );
});
