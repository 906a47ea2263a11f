// Installs the packed package into an empty folder and uses it as a new user would. Every supported Node imports every
// subpath. The two newest TypeScript majors check the types in a strict consumer. The binary runs. Importing the core
// loads only zod and neverthrow. The examples pass their tests.
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { peerVersions } from "../dist/adapters/shared/runtime/optional-package.js";

const NODES = ["24", "26"];
const TYPESCRIPTS = ["7.0.2", "6.0.3"];
const MOST_BYTES = 60 * 1000 * 1000;

const folder = process.argv[2];
const { exports, version, dependencies, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const subpaths = Object.keys(exports).filter((path) => !path.endsWith(".json"));
const specifiers = subpaths.map((path) => `portside${path.slice(1)}`);
// portside/testing defines vitest suites, so it only loads inside vitest.
const plain = specifiers.filter((name) => name !== "portside/testing");

const run = (file, args, cwd = folder, env = process.env) => {
  try {
    return execFileSync(file, args, { cwd, env, stdio: "pipe", encoding: "utf8" });
  } catch (error) {
    throw new Error(`${file} ${args.join(" ")}\n${error.stdout}${error.stderr}`);
  }
};
const install = (...packages) => run("npm", ["install", "--no-audit", "--no-fund", ...packages]);
const pinned = (...names) => names.map((name) => `${name}@${dependencies[name] ?? devDependencies[name]}`);

/** Size of a folder in bytes. */
const sizeOf = (path) => {
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.reduce((sum, one) => {
    const inside = join(path, one.name);
    return sum + (one.isDirectory() ? sizeOf(inside) : lstatSync(inside).size);
  }, 0);
};

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { stdio: "pipe" });
const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
install(`./${tarball}`);
const strays = globSync("node_modules/portside/**/{node_modules,.*}", { cwd: folder });
if (strays.length > 0) throw new Error(`the package contains unexpected files: ${strays.slice(0, 5).join(", ")}`);
// The pictures of the console take megabytes, and the packaged documentation shows only one of them.
const pictures = globSync("node_modules/portside/docs/images/console/**/*.png", { cwd: folder });
if (pictures.length !== 1)
  throw new Error(`the package must contain one picture of the console: ${pictures.join(", ")}`);
const bytes = sizeOf(join(folder, "node_modules"));
const packages = run("npm", ["ls", "--all", "--parseable"]).trim().split("\n").length - 1;
console.log(`installed: ${(bytes / 1e6).toFixed(1)} MB in ${packages} packages`);
if (bytes > MOST_BYTES)
  throw new Error(`the package and its dependencies take ${bytes} bytes; the maximum is ${MOST_BYTES}`);

const loadedBy = (specifier) => {
  const program = `
  import { registerHooks } from "node:module";
  const seen = new Set();
  registerHooks({ load: (url, context, next) => {
    const name = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1];
    if (name && name !== "portside") seen.add(name);
    if (url.startsWith("node:")) seen.add(url);
    return next(url, context);
  } });
  await import("${specifier}");
  console.log([...seen].sort().join(" "));`;
  return run(process.execPath, ["--input-type=module", "-e", program]).trim();
};
for (const [specifier, allowed] of Object.entries({ portside: "neverthrow zod", "portside/client": "" })) {
  const loaded = loadedBy(specifier);
  if (loaded !== allowed) throw new Error(`importing ${specifier} loads: ${loaded}`);
}

const binary = run(join(folder, "node_modules", ".bin", "portside"), ["version"]).trim();
if (binary !== version) throw new Error(`the binary prints ${binary}`);
const missing = spawnSync(join(folder, "node_modules", ".bin", "portside"), ["deploy", "--env-file", "none.env"]);
if (!String(missing.stderr).includes("none.env' does not exist."))
  throw new Error(`a missing --env-file is reported as: ${missing.stderr}`);

for (const file of ["index.html", "index.html.br"])
  if (!existsSync(join(folder, "node_modules/portside/dist/console", file)))
    throw new Error(`the package lacks the console: dist/console/${file}`);

for (const script of ["missing-peers", "two-versions"])
  console.log(run(process.execPath, [join(".ci", `${script}.mjs`), folder], ".").trim());
// These scripts install many packages, so they run concurrently with the other checks.
const besides = ["peer-versions", "nestjs"].map(async (script) => {
  const args = [join(".ci", `${script}.mjs`), join(folder, tarball), join(folder, script)];
  return (await promisify(execFile)(process.execPath, args)).stdout.trim();
});
for (const one of besides) one.catch(() => {});

for (const major of NODES) {
  const place = join(folder, `node-${major}`);
  mkdirSync(place);
  writeFileSync(join(place, "package.json"), "{}");
  run("npm", ["install", "--no-audit", "--no-fund", `node@${major}`], place);
  const node = join(place, "node_modules", "node", "bin", "node");
  for (const name of plain) run(node, ["--input-type=module", "-e", `await import(${JSON.stringify(name)})`]);
  const cli = join(folder, "node_modules", "portside", "dist", "hosts", "cli", "main.js");
  const printed = run(node, [cli, "version"]).trim();
  if (printed !== version) throw new Error(`on Node ${major} the binary prints ${printed}`);
  const flags = [
    "--port",
    "0",
    "--ingress-port",
    "0",
    "--runner",
    "process",
    "--data-dir",
    join(place, "data"),
    "--json",
  ];
  const server = spawn(node, [cli, "serve", ...flags], { cwd: place, stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const { value: line } = await lines.next();
  if (line === undefined) throw new Error(`on Node ${major} the server does not start`);
  const { url, api_key: key } = JSON.parse(line);
  const env = { ...process.env, PORTSIDE_URL: url, PORTSIDE_API_KEY: key };
  run(node, [cli, "deploy", join("examples", "hello"), "--name", "hello"], ".", env);
  server.kill("SIGTERM");
  const [code] = await once(server, "exit");
  if (code !== 0) throw new Error(`on Node ${major} the server ends with exit code ${code}`);
  console.log(
    `Node ${run(node, ["--version"]).trim()}: ${plain.length} subpaths import, the binary runs, a deploy serves`,
  );
}

install(
  ...pinned("@types/node", "vitest", "fast-check", "stripe", "express", "@types/express", "fastify", "tar"),
  ...Object.entries(peerVersions).flatMap(([name, lines]) =>
    /^(@google-cloud\/|@aws-sdk\/|google-auth-library$)/.test(name) ? [`${name}@${lines.at(-1)}`] : [],
  ),
);
const clouds = `
  import * as aws from "portside/aws";
  import * as gcp from "portside/gcp";
  const ofGoogle = "services revisions builds registry storage logging scheduler bigquery auth";
  const ofAmazon = "ecs balancer scaling builds registry s3 files scheduler logs athena iam sts stacks";
  for (const name of ofGoogle.split(" ")) await gcp.clientSource("p")(name);
  for (const name of ofAmazon.split(" ")) await aws.clientSource("eu-west-1")(name);
  process.exit(0);`;
run(process.execPath, ["--input-type=module", "-e", clouds]);
console.log("the clouds' packages load in all supported versions");
writeFileSync(
  join(folder, "consumer.ts"),
  specifiers
    .map((name, index) => `import * as m${index} from "${name}";\nexport const u${index}: object = m${index};`)
    .join("\n"),
);
cpSync("examples", join(folder, "examples"), { recursive: true });
const compilerOptions = {
  strict: true,
  noEmit: true,
  module: "nodenext",
  target: "es2024",
  types: ["node"],
  lib: ["es2024", "esnext.disposable", "esnext.array"],
  skipLibCheck: false,
  allowImportingTsExtensions: true,
};
for (const typescript of TYPESCRIPTS) {
  install(`typescript@${typescript}`);
  for (const [strict, files] of [
    [true, ["consumer.ts"]],
    // The examples' dependencies may have type errors of their own.
    [false, readdirSync("examples").map((name) => `examples/${name}/*.ts`)],
  ]) {
    const options = { compilerOptions: { ...compilerOptions, skipLibCheck: !strict }, include: files };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(options));
    run(process.execPath, ["node_modules/typescript/bin/tsc"]);
  }
  console.log(`TypeScript ${typescript}: ${specifiers.length} subpaths and the examples type-check`);
}

for (const example of readdirSync(join(folder, "examples"))) {
  const manifest = join(folder, "examples", example, "package.json");
  const { scripts = {} } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")) : {};
  if (scripts.test === undefined) continue;
  run("npx", scripts.test.split(" "), join(folder, "examples", example));
  console.log(`examples/${example}: ${scripts.test}`);
}
const swapped = run(process.execPath, ["main.ts"], join(folder, "examples", "swap-provider"), {
  ...process.env,
  PORTSIDE_PROVIDER: "memory",
});
if (!swapped.includes("Create 'app'")) throw new Error(`swap-provider prints ${swapped}`);
for (const one of besides) console.log(await one);
