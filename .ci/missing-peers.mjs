// Whoever uses a part of the package without what it needs is told what to install: each part is tried in a folder where
// the package is installed, and none of its optional peers.
//   node .ci/missing-peers.mjs FOLDER
import { spawnSync } from "node:child_process";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const { peerDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const peers = Object.keys(peerDependencies);
const named = (pattern) => peers.filter((name) => pattern.test(name));

const cli = join(folder, "node_modules", "portside", "dist", "hosts", "cli", "main.js");
const data = join(folder, "data");
const portside = (...args) => [cli, ...args, "--data-dir", data];
const importing = (name) => ["--input-type=module", "-e", `await import(${JSON.stringify(name)})`];

/** What is tried, and the packages that its output has to name behind `npm install`. */
const tries = [
  [portside("serve", "--provider", "gcp", "--gcp-project", "p", "--gcp-region", "r"), ["google-auth-library"]],
  [
    portside("doctor", "--provider", "gcp", "--gcp-project", "p", "--gcp-region", "r"),
    named(/^(@google-cloud\/(?!bigquery)|google-auth)/),
  ],
  [portside("serve", "--provider", "aws", "--aws-region", "r"), named(/^@aws-sdk\/(?!client-athena)/)],
  [portside("doctor", "--provider", "local"), ["@duckdb/node-api", "@polyglot-sql/sdk"]],
  [portside("doctor", "--provider", "local", "--runner", "container"), ["dockerode"]],
  [portside("serve", "--provider", "memory", "--keys-database", "postgres://nobody@127.0.0.1:1/none"), ["pg"]],
  [portside("serve", "--provider", "memory", "--stripe-key", "sk_test_none"), ["stripe"]],
  [importing("portside/testing"), ["vitest", "fast-check"]],
  [importing("portside/tracing"), ["@opentelemetry/api"]],
];

// A dependency brings it, where the installer lets others see what that has; some do not.
const hidden = join(folder, "node_modules", "@opentelemetry");
renameSync(hidden, `${hidden}-hidden`);
process.on("exit", () => renameSync(`${hidden}-hidden`, hidden));

const checked = new Set();
for (const [args, packages] of tries) {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: "utf8",
    timeout: 60_000,
    // Credentials of the machine's own are nothing to this.
    env: { PATH: process.env.PATH, HOME: data },
  });
  const output = `${stdout}${stderr}`;
  const asked = [...output.matchAll(/npm install ([^\n;)]+)/g)].flatMap(([, names]) =>
    names.split(" ").map((name) => name.replace(/(?<=.)@.*$/, "")),
  );
  for (const name of packages) {
    if (!asked.includes(name))
      throw new Error(`${args.slice(1).join(" ")} does not say 'npm install ${name}' (${status}):\n${output}`);
    checked.add(name);
  }
}
// A statement in SQL finds out about its own where the cloud is set up for it, which it is not here.
const left = peers.filter((name) => !checked.has(name) && !/bigquery|athena/.test(name));
if (left.length > 0) throw new Error(`nobody was asked to install ${left.join(", ")}`);
console.log(`without peers: ${tries.length} parts name what to install, ${checked.size} packages`);
