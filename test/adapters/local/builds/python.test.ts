/** Python sources: how they start, and their shared virtual environments. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refersToSourceFiles } from "../../../../adapters/local/builds/build-python.ts";
import { bytesOf, sourceOf, tarGz } from "../../../support/archives/archives.ts";
import { type PythonIndex, serveIndex, wheelOf } from "../../../support/archives/python-index.ts";
import { principalOf, runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

/** A module whose `main` serves a text. Scripts and other modules call it. */
const serving = (text: string) => `
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(${JSON.stringify(text)}.encode())
    def log_message(self, *_):
        pass
def main():
    HTTPServer(("", int(os.environ["PORT"])), Handler).serve_forever()
`;

const wheel = wheelOf("greeter", "1.0", serving("hello from the wheel"));
let index: PythonIndex;
beforeAll(async () => {
  index = await serveIndex([wheel]);
});
afterAll(() => index[Symbol.asyncDispose]());

const start = (runner: (typeof runners)[number]): Promise<TestPlatform> =>
  startLocal({ runner }, {}, { environment: { ...process.env, PIP_INDEX_URL: index.url } });

const answer = async (url: string | undefined) => (await fetch(url as string)).text();
const running = (text: string) => `${serving(text)}\nmain()\n`;

/** The environments of all accounts on the disk. */
const venvs = (platform: TestPlatform): string[] => {
  const cache = join(platform.dataDir, "cache");
  return readdirSync(cache).flatMap((account) => {
    try {
      return readdirSync(join(cache, account, "venvs"));
    } catch {
      return [];
    }
  });
};

describe.each(runners)("%s", (runner) => {
  test("starts a server of the standard library, as main.py, app.py and with a Procfile", async (context) => {
    needs(context, "python");
    await using platform = await start(runner);
    expect(await answer(await platform.up(sourceOf({ "main.py": running("main") })))).toBe("main");
    expect(await answer(await platform.up(sourceOf({ "app.py": running("app") })))).toBe("app");
    const procfile = {
      Procfile: "web: python3 -c 'import web; web.main()'\n",
      "web.py": serving("procfile"),
      "main.py": "",
    };
    expect(await answer(await platform.up(sourceOf(procfile)))).toBe("procfile");
    expect(venvs(platform)).toEqual([]);
  });

  test("installs a requirements.txt once for two sources", async (context) => {
    needs(context, "python");
    await using platform = await start(runner);
    const before = index.fetched.length;
    const sources = ["a", "b"].map((name) =>
      sourceOf({ "requirements.txt": "greeter==1.0\n", Procfile: "web: greeter\n", [name]: "" }),
    );
    const all = await Promise.all(sources.map((one, n) => platform.deploy(one, { function_name: `app-${n}` })));
    for (const records of all) expect(await answer(records.at(-1)?.url)).toBe("hello from the wheel");
    const outputs = all.map((records) => records.map(({ message }) => message).join("\n"));
    expect(outputs.filter((text) => text.includes("Creating a virtual environment")).length).toBe(1);
    expect(outputs.filter((text) => text.includes("Using cached dependencies")).length).toBe(1);
    expect(index.fetched.length).toBe(before + 1);
    expect(venvs(platform).length).toBe(1);
  });
});

/** A source whose PEP 517 backend creates links in the environment, by name. */
const plantingSource = (links: Readonly<Record<string, string>>): Buffer =>
  tarGz([
    {
      path: "pyproject.toml",
      content: `[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "planter"\nversion = "1.0"\n`,
    },
    {
      path: "backend.py",
      content: `
import os, shutil, sys
def build_wheel(folder, config_settings=None, metadata_directory=None):
    for name, target in ${JSON.stringify(links)}.items():
        os.symlink(target, os.path.join(sys.prefix, name))
    return shutil.copyfile("made.whl", os.path.join(folder, "planter-1.0-py3-none-any.whl")).split("/")[-1]
`,
    },
    { path: "made.whl", content: wheelOf("planter", "1.0", serving("planted")).content },
    { path: "Procfile", content: "web: planter\n" },
  ]);

test.for(runners)("does not follow a build backend's links in the environment (%s)", async (runner, context) => {
  needs(context, "python");
  await using platform = await start(runner);
  const outside = mkdtempSync(join(tmpdir(), "portside-outside-"));
  const kept = join(outside, "kept");
  writeFileSync(kept, "kept");
  // During the setup of a sandbox, bubblewrap sees this machine's root below /oldroot.
  const door = runner === "bubblewrap" ? `/oldroot${outside}` : outside;
  const source = plantingSource({ whole: kept, complete: kept, "made.json": kept, "image.json": kept, door });
  const url = await platform.up(source);
  const answered = await answer(url);
  const [account] = readdirSync(join(platform.dataDir, "cache"));
  const [venv] = venvs(platform);
  const environments = [venv, `${venv}/env`].map((name) => `${platform.dataDir}/cache/${account}/venvs/${name}`);
  for (const environment of environments)
    await platform.deploy(source, { volumes: { [`${environment}/door/in`]: "v" } });
  const [text, left] = [readFileSync(kept, "utf8"), readdirSync(outside)];
  rmSync(outside, { recursive: true });
  expect(text).toBe("kept");
  expect(left).toEqual(["kept"]);
  expect(answered).toBe("planted");
});

test.each([
  ["flask==3.1.0\nrequests>=2,<3 ; python_version > '3.8'", false],
  ["--index-url https://pypi.example/simple\nflask\n# see ./notes", false],
  ["flask==3.1.0 \\\n    --hash=sha256:2775", false],
  ["flask[async] ~= 3.0  # pinned in /etc/x", false],
  ["-r base.txt", true],
  ["flask\n  --requirement base.txt", true],
  ["-c constraints.txt\nflask", true],
  ["-e .", true],
  ["--find-links=wheels\nflask", true],
  [".", true],
  ["./lib", true],
  ["lib/greeter", true],
  ["greeter-1.0-py3-none-any.whl", true],
  ["greeter @ file:///opt/greeter", true],
  ["greeter@https://example.com/greeter.tar.gz", true],
])("requirements %j depend on more than their text: %s", (text, answer) => {
  expect(refersToSourceFiles(text)).toBe(answer);
});

test("fails with pip's message, and leaves no partial environment", async (context) => {
  needs(context, "python");
  await using platform = await start("process");
  const records = await platform.deploy(sourceOf({ "requirements.txt": "no-such-package\n", "main.py": "" }));
  expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "build_failed", exit_code: 1 });
  expect(records.at(-1)?.message).toContain("pip install");
  expect(records.at(-1)?.log_tail?.join("\n")).toContain("no-such-package");
  expect(venvs(platform)).toEqual([]);
});

test("leaves no environment of a cancelled build", async (context) => {
  needs(context, "python");
  await using platform = await start("process");
  const acme = principalOf("acme");
  const source = sourceOf({ "requirements.txt": "greeter==1.0\n", "main.py": running("x") });
  const archive = (await platform.controlPlane.receiveSource(acme, bytesOf(source)))._unsafeUnwrap();
  const fields = { function_name: "app", volumes: {} };
  const run = (await platform.controlPlane.deploy(acme, { fields, archive }))._unsafeUnwrap();
  await expect.poll(() => venvs(platform), { interval: 5 }).not.toEqual([]);
  expect((await platform.controlPlane.cancelDeploy(acme, { deploy_id: run.deployId })).isOk()).toBe(true);
  expect((await Array.fromAsync(run.follow())).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
  expect(venvs(platform)).toEqual([]);
});

test("refuses a source without a start command, with a message", async (context) => {
  needs(context, "python");
  await using platform = await start("process");
  const last = (await platform.deploy(sourceOf({ "requirements.txt": "", "lib.py": "" }))).at(-1);
  expect(last).toMatchObject({ status: "ERROR", reason: "no_builder" });
  expect(last?.message).toMatch(/Add main\.py, or a Procfile with 'web: COMMAND'/);
});

test("reports a machine without Python", async () => {
  const environment = { PATH: "/nowhere" };
  await using platform = await startLocal({ runner: "process" }, {}, { environment });
  const last = (await platform.deploy(sourceOf({ "main.py": "" }))).at(-1);
  expect(last).toMatchObject({ status: "ERROR", reason: "no_builder" });
  expect(last?.message).toContain("needs python3, which is missing or does not run");
  expect(platform.controlPlane.capabilities().builders.python.supported).toBe(false);
});
