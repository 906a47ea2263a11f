/** How Node.js sources are started, and the scripts that run during the build. */
import { describe, expect, test } from "vitest";
import { helloServer, sourceOf } from "../../../support/archives/archives.ts";
import { runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const source = (manifest: unknown, files: Readonly<Record<string, string>> = {}): Uint8Array =>
  sourceOf({ "package.json": typeof manifest === "string" ? manifest : JSON.stringify(manifest), ...files });

const module = { type: "module" };
const answers = (text: string) => helloServer(text);

const starts: readonly [string, Uint8Array][] = [
  [
    "a start script",
    source(
      { ...module, scripts: { start: "GREETING=hello node web.js" } },
      {
        "web.js": answers("x").replace('"x"', "process.env.GREETING"),
      },
    ),
  ],
  ["main", source({ ...module, main: "lib/it's.js" }, { "lib/it's.js": answers("hello") })],
  [
    "main without its extension",
    source(
      { main: "web" },
      { "web.js": answers("hello").replace(/^\s*import.*$/m, 'const { createServer } = require("node:http");') },
    ),
  ],
  ["server.js by default", source(module, { "server.js": answers("hello") })],
  [
    "a Procfile before all others",
    source(
      { ...module, main: "none.js", scripts: { start: "exit 1" } },
      {
        Procfile: "web: node other.js\n",
        "other.js": answers("hello"),
      },
    ),
  ],
  [
    "a start script with two steps",
    source(
      { ...module, scripts: { start: "echo preparing && exec node web.js" } },
      {
        "web.js": answers("hello"),
      },
    ),
  ],
];

const failures: readonly [string, Uint8Array, RegExp][] = [
  [
    "neither start nor main nor server.js",
    source({ name: "x" }, { "index.js": "" }),
    /neither a start script.*scripts\.start.*Add "start"/,
  ],
  [
    "a missing main",
    source({ main: "gone.js" }),
    /The file 'gone\.js', which package\.json names as main, does not exist/,
  ],
  ["invalid JSON in package.json", source("{ name: }"), /package\.json is not valid JSON/],
  ["a package.json that is not an object", source([1]), /not a valid package manifest/],
  [
    "two processes in a Procfile",
    source(module, { Procfile: "web: a\nworker: b\n", "server.js": "" }),
    /2 processes.*'worker'/,
  ],
];

describe.each(runners)("%s", (runner) => {
  test("starts with each way to declare the command", async () => {
    await using platform = await startLocal({ runner });
    for (const [what, one] of starts) {
      const url = await platform.up(one);
      expect(await (await fetch(url)).text(), what).toBe("hello");
    }
  });

  test("fails with a message for sources that cannot be started, and lists no deployment", async () => {
    await using platform = await startLocal({ runner });
    for (const [what, one, words] of failures) {
      const last = (await platform.deploy(one)).at(-1);
      expect(last, what).toMatchObject({ status: "ERROR", reason: "build_failed" });
      expect(last?.message, what).toMatch(words);
    }
    const listed = await platform.controlPlane.listDeployments(principal);
    expect(listed._unsafeUnwrap()).toEqual([]);
  });

  test("runs build and prestart once, during the build, and the service finds their output", async (context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner, idle: "stop", idleSeconds: 0.2, drainSeconds: 0.2 });
    const scripts = {
      build: "mkdir -p dist && echo built $npm_lifecycle_event >> dist/steps && echo a line from the build",
      prestart: "echo prestart >> dist/steps",
      start: "node web.js",
      poststart: "echo never >> dist/steps",
    };
    const web = answers("x")
      .replace('"x"', 'readFileSync("dist/steps", "utf8")')
      .replace(/^/, 'import { readFileSync } from "node:fs";');
    const records = await platform.deploy(source({ ...module, scripts }, { "web.js": web }));
    const messages = records.map(({ message }) => message);
    expect(messages).toContain("a line from the build");
    expect(messages.indexOf("Running the build script")).toBeLessThan(messages.indexOf("Running the prestart script"));
    const { url } = records.at(-1) as { url: string };
    expect(await (await fetch(url)).text()).toBe("built build\nprestart\n");
    await idle(platform);
    expect(await (await fetch(url)).text()).toBe("built build\nprestart\n");
  });

  test("warns about an unsupported engine", async () => {
    await using platform = await startLocal({ runner });
    const warning = async (node: string) => {
      const records = await platform.deploy(
        source({ ...module, engines: { node } }, { "server.js": answers("hello") }),
      );
      expect(records.at(-1)?.status).toBe("DONE");
      return records
        .map(({ message }) => message)
        .find((message) => message.startsWith("warning: package.json requires"));
    };
    expect(await warning(">=90")).toBe(
      `warning: package.json requires Node >=90; this platform runs ${process.version}`,
    );
    expect(await warning(">=18")).toBeUndefined();
    expect(await warning("whatever")).toBeUndefined();
  });
});

const principal = { account: "acme", credentialId: "test" } as Parameters<
  TestPlatform["controlPlane"]["listDeployments"]
>[0];

/** Waits until no instance is left, so that the next request starts one. */
const idle = async (platform: TestPlatform): Promise<void> => {
  const stopped = async () =>
    (await platform.controlPlane.readLogs(principal, { deployment_name: "app" }))
      ._unsafeUnwrap()
      .logs.some(({ message }) => message.includes('"idle"'));
  await expect.poll(stopped).toBe(true);
};
