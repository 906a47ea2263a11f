// Installs the packed package into an empty folder and uses it as a stranger would: every subpath is imported, the
// types are checked in a strict consumer, the binary runs, and importing the core loads zod and neverthrow alone.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const { exports, peerDependencies: peers } = JSON.parse(readFileSync("package.json", "utf8"));
const subpaths = Object.keys(exports).filter((path) => !path.endsWith(".json"));
const run = (file, args, options = {}) =>
  execFileSync(file, args, { cwd: folder, stdio: "pipe", encoding: "utf8", ...options });

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { stdio: "pipe" });
const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
run("npm", ["install", "--no-audit", "--no-fund", `./${tarball}`]);

const specifiers = subpaths.map((path) => `portside${path.slice(1)}`);
const plain = specifiers.filter((name) => name !== "portside/testing");
for (const name of plain) run(process.execPath, ["--input-type=module", "-e", `await import(${JSON.stringify(name)})`]);

const loaded = `
  import { registerHooks } from "node:module";
  const seen = new Set();
  registerHooks({ load: (url, context, next) => {
    const name = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1];
    if (name && name !== "portside") seen.add(name);
    if (url.startsWith("node:")) seen.add(url);
    return next(url, context);
  } });
  await import("portside");
  console.log([...seen].sort().join(" "));`;
const packages = run(process.execPath, ["--input-type=module", "-e", loaded]).trim();
if (packages !== "neverthrow zod") throw new Error(`importing portside loads: ${packages}`);

const version = run(join(folder, "node_modules", ".bin", "portside"), ["version"]).trim();
if (version !== JSON.parse(readFileSync("package.json", "utf8")).version) throw new Error(`the binary says ${version}`);

run("npm", [
  "install",
  "--no-audit",
  "--no-fund",
  "typescript@7.0.2",
  "@types/node@24",
  "vitest@5.1.1",
  "fast-check@4",
  "stripe@23",
  ...Object.keys(peers).filter((name) => /^(@google-cloud\/|@aws-sdk\/|google-auth-library$)/.test(name)),
]);
writeFileSync(
  join(folder, "consumer.ts"),
  specifiers
    .map((name, index) => `import * as m${index} from "${name}";\nexport const u${index}: object = m${index};`)
    .join("\n"),
);
writeFileSync(
  join(folder, "tsconfig.json"),
  JSON.stringify({
    compilerOptions: {
      strict: true,
      noEmit: true,
      module: "nodenext",
      target: "es2024",
      types: ["node"],
      lib: ["es2024", "esnext.disposable"],
    },
    files: ["consumer.ts"],
  }),
);
run(process.execPath, ["node_modules/typescript/bin/tsc"]);
console.log(
  `${specifiers.length} subpaths import and type-check; the core loads ${packages}; the binary is ${version}`,
);
