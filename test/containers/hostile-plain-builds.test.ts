/** Plain sources that are built in containers and plant traps at every path that the server touches afterwards. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { helloServer, nodeSource, sourceOf, tarGz } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { wheelOf } from "../support/archives/python-index.ts";
import { startLocalIn } from "../support/providers/local-platform.ts";
import { canaries, fingerprint } from "../support/sandbox/hostile-builds.ts";
import { has, needs } from "../support/vitest/machine.ts";
import { sampled } from "../support/vitest/sampled.ts";

const kinds = ["file-link", "folder-link", "new-link", "fifo", "socket", "folder", "closed", "race"] as const;
type Kind = (typeof kinds)[number];

/** Reports the number of planted traps. A race continues until the container ends. */
const plantScript = (kind: Kind, outside: string): string => `
const fs = require("node:fs"), { join } = require("node:path"), { spawn, spawnSync } = require("node:child_process");
const kind = ${JSON.stringify(kind)}, outside = ${JSON.stringify(outside)};
const app = process.env.INIT_CWD || process.env.PLANT_APP || process.cwd(), venv = process.env.PLANT_VENV;
const names = ["whole", "complete", "image.json", "made.json", "data", "tmp", "Procfile", "requirements.txt", "pyproject.toml",
  "package-lock.json", "npm-shrinkwrap.json", ...(kind === "race" ? [] : ["node_modules/inner", "bin/python", "lib"])];
const roots = [app, join(app, ".."), process.env.HOME, join(process.env.HOME, ".."), ...(venv ? [venv] : []), "/tmp"];
const paths = roots.flatMap((root) => names.map((name) => join(root, name)));
const targets = { "file-link": ["data/state.sqlite", "etc/shadow"], "folder-link": ["etc", "checkout/node_modules"], "new-link": ["etc/new"] };
let planted = 0;
const plant = (path, index) => {
  fs.rmSync(path, { recursive: true, force: true });
  fs.mkdirSync(join(path, ".."), { recursive: true });
  if (kind.endsWith("-link")) fs.symlinkSync(join(outside, targets[kind][index % targets[kind].length]), path);
  if (kind === "fifo" && spawnSync("mkfifo", [path]).status !== 0) return;
  if (kind === "socket") require("node:net").createServer().listen(path).unref();
  if (kind === "folder") fs.mkdirSync(join(path, "inner"), { recursive: true });
  if (kind === "closed") { fs.mkdirSync(path); fs.chmodSync(path, 0); }
  planted++;
};
const swap = () => {
  for (const path of paths) {
    try { fs.mkdirSync(path, { recursive: true }); fs.writeFileSync(path + "/shadow", ""); } catch {}
    try { fs.renameSync(path, path + Math.random()); fs.symlinkSync(join(outside, "etc"), path); planted++; } catch {}
    try { fs.unlinkSync(path); } catch {}
  }
};
if (kind === "race") {
  swap();
  if (!process.env.RACING) spawn(process.execPath, [__filename], { detached: true, stdio: "ignore", env: { ...process.env, INIT_CWD: app, RACING: "1" } }).unref();
  else for (const end = Date.now() + 6000; Date.now() < end; ) swap();
} else paths.forEach((path, index) => { try { plant(path, index); } catch {} });
if (kind === "closed") for (const root of [app, venv].filter(Boolean)) try { fs.chmodSync(root, 0o500); } catch {}
console.log("planted " + planted + " of " + kind);
setTimeout(() => process.exit(0), 50);
`;

const run = `os.system("PLANT_VENV=" + sys.prefix + " PLANT_APP=" + os.getcwd() + " node plant.cjs 1>&2")`;

const backend = `import os, shutil, sys
def build_wheel(folder, config_settings=None, metadata_directory=None):
    made = shutil.copyfile("made.whl", os.path.join(folder, "planter-1.0-py3-none-any.whl"))
    ${run}
    return os.path.basename(made)
`;
const project = `[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "planter"\nversion = "1.0"\n`;
const setup = `import os, sys\n${run}\nfrom setuptools import setup\nsetup(name="planter", version="1.0", py_modules=[])\n`;
const program = `import os
from http.server import HTTPServer, BaseHTTPRequestHandler
HTTPServer(("", int(os.environ["PORT"])), BaseHTTPRequestHandler).serve_forever()
`;

type Files = Readonly<Record<string, string>>;
const dependencies = { inner: "file:inner" };
const scripted = (script: string) => (plant: string) =>
  sourceOf({
    "plant.cjs": plant,
    "server.js": helloServer(),
    "inner/package.json": JSON.stringify({ name: "inner", version: "1.0.0" }),
    "package.json": JSON.stringify({
      type: "module",
      scripts: { start: "node server.js", [script]: "node plant.cjs" },
      dependencies,
    }),
    "package-lock.json": JSON.stringify({
      name: "test",
      lockfileVersion: 3,
      packages: {
        "": { dependencies },
        inner: { version: "1.0.0" },
        "node_modules/inner": { resolved: "inner", link: true },
      },
    }),
  });
const python = (more: Files) => (plant: string) =>
  tarGz([
    ...Object.entries({ "plant.cjs": plant, "main.py": program, ...more }).map(([path, content]) => ({
      path,
      content,
    })),
    { path: "made.whl", content: wheelOf("planter", "1.0", "").content },
  ]);

/** How a build runs the attacker's code. The Python ones print its output only if they fail. */
const vectors = {
  postinstall: scripted("postinstall"),
  build: scripted("build"),
  prestart: scripted("prestart"),
  backend: python({ "pyproject.toml": project, "backend.py": backend }),
  "setup.py": python({ "requirements.txt": "--no-build-isolation\n.\n", "setup.py": setup }),
  start: (plant: string) =>
    sourceOf({ "plant.cjs": plant, "server.js": helloServer(), Procfile: "web: node plant.cjs; node server.js\n" }),
};
type Vector = keyof typeof vectors;

/** Each kind by a Node script, and by Python or a shell command. */
const attacks = kinds.flatMap((kind, index) => [
  [kind, (["postinstall", "build", "prestart"] as const)[index % 3] as Vector] as const,
  [kind, (["backend", "setup.py", "start"] as const)[index % 3] as Vector] as const,
]);

test("hostile builds in containers change nothing outside and stall no other build", {
  timeout: 600_000,
}, async (context) => {
  needs(context, "containers", "npm");
  using outside = folderWith(canaries);
  const dataDir = mkdtempSync(join(tmpdir(), "portside-hostile-"));
  const options = { runner: "container", graceSeconds: 1, drainSeconds: 1 } as const;
  // Programs of the build itself may wait for a planted pipe.
  const settings = { deployLimits: { buildDeadlineMs: 20_000 } };
  const start = () => startLocalIn(dataDir, options, settings, { keepsImages: false });
  const before = fingerprint(outside.path);
  {
    await using platform = await start();
    const neighbour = await platform.up(nodeSource(helloServer("hello")), { function_name: "neighbour" }, "other");
    for (const [kind, vector] of sampled(attacks, 3)) {
      if (!has("python") && ["backend", "setup.py"].includes(vector)) continue;
      const source = vectors[vector](plantScript(kind, outside.path));
      // A separate account, because an attack breaks the caches of its account.
      const account = `a-${kind}-${vector}`.replace(".", "-");
      const volumes = { "/app/data/deep": "v", "/data": "w" };
      const records = await platform.deploy(source, { function_name: account, volumes }, account);
      const output = records.map(({ message }) => message).join("\n");
      expect(records.at(-1)?.status, output).toMatch(/^(?:DONE|ERROR)$/);
      if (["postinstall", "build", "prestart"].includes(vector)) expect(output, account).toMatch(/planted [1-9]\d* of/);
      expect(fingerprint(outside.path), account).toBe(before);
      expect(await (await fetch(neighbour)).text()).toBe("hello");
    }
    const next = nodeSource(helloServer("next"), { "next.txt": "" });
    expect(await (await fetch(await platform.up(next, { function_name: "next" }, "other"))).text()).toBe("next");
  }
  {
    // A start removes leftovers of builds.
    await using platform = await start();
    expect(await (await fetch(await platform.up(nodeSource(helloServer("new")), {}, "other"))).text()).toBe("new");
  }
  expect(fingerprint(outside.path)).toBe(before);
  rmSync(dataDir, { recursive: true, force: true });
});
