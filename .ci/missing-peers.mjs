// Checks that each part of the package names its missing optional peers. Runs each part in a folder where the package
// is installed without any optional peer.
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

/** Arguments to run, and the packages that the output must name after `npm install`. */
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

// A dependency installs @opentelemetry, and npm hoists it so that Portside sees it. Other installers do not.
const hidden = join(folder, "node_modules", "@opentelemetry");
renameSync(hidden, `${hidden}-hidden`);
process.on("exit", () => renameSync(`${hidden}-hidden`, hidden));

const checked = new Set();
for (const [args, packages] of tries) {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: "utf8",
    timeout: 60_000,
    // Hides the machine's own credentials.
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
// Only an SQL statement on a configured cloud reports these peers, and no cloud is configured here.
const left = peers.filter((name) => !checked.has(name) && !/bigquery|athena/.test(name));
if (left.length > 0) throw new Error(`no message named ${left.join(", ")}`);
console.log(`without peers: ${tries.length} parts name what to install, ${checked.size} packages`);
