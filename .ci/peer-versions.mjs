// Installs each supported version of the optional peers (peerVersions) with the packed package and uses it through
// Portside. Older versions and Fastify 4 also install, but Portside rejects them with a message. Cloud packages have
// one supported line each, which check-package.mjs installs.
//   node .ci/peer-versions.mjs TARBALL FOLDER
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { peerVersions } from "../dist/adapters/shared/runtime/optional-package.js";

const [tarball, around] = process.argv.slice(2);

const suite = `
  import fc from "fast-check";
  import { expect, test } from "vitest";
  import { createMemoryProvider } from "portside/memory";
  import { cloudRunLikeCatalogue, contractTests, deployRequest, idsCases } from "portside/testing";
  contractTests("ids", idsCases, async () => ({ subject: createMemoryProvider().ports.ids, close: async () => {} }));
  test("what clients may send", () => {
    fc.assert(fc.property(deployRequest(cloudRunLikeCatalogue), ({ declares }) => {
      expect(declares.name).toMatch(/^[a-z]/);
    }));
  });`;

/** Uses every peer of the round through the part of Portside that loads it. */
const works = `
  import assert from "node:assert/strict";
  import { accountOf, createControlPlane } from "portside";
  import { createStripeClient } from "portside/billing";
  import { createMemoryProvider } from "portside/memory";
  import { traceControlPlane } from "portside/tracing";
  import Docker from "dockerode";
  import pg from "pg";
  import { needPackages } from "./node_modules/portside/dist/adapters/shared/runtime/optional-package.js";
  const controlPlane = traceControlPlane(createControlPlane(createMemoryProvider().ports));
  const principal = { account: accountOf("acme"), credentialId: "ci" };
  const answer = await controlPlane.runSql(principal, { query: "SELECT 1 AS one" });
  assert.deepEqual(answer._unsafeUnwrap().rows, [[1]]);
  assert.equal(typeof (await createStripeClient("sk_test")).subscriptions.list, "function");
  assert.equal(typeof new Docker({ socketPath: "/nowhere" }).listContainers, "function");
  assert.equal(typeof new pg.Pool().query, "function");
  await needPackages("This check", ["dockerode", "pg"], async () => undefined);
  await controlPlane.close();
  process.exit(0);`;

const refuses = `
  import Fastify from "fastify";
  import { createControlPlane } from "portside";
  import { createStripeClient } from "portside/billing";
  import { clientSource } from "portside/gcp";
  import { portside } from "portside/http";
  import { createMemoryProvider } from "portside/memory";
  const inFastify = async () => {
    const app = Fastify();
    app.register(portside, { controlPlane: createControlPlane(createMemoryProvider().ports) });
    await app.ready();
  };
  for (const use of [() => import("portside/testing"), () => createStripeClient("sk_test"), () => clientSource("p")("storage"), inFastify])
    await use().then(() => console.log("works"), ({ message }) => console.log(message));`;

const run = (file, args, cwd) => {
  try {
    return execFileSync(file, args, { cwd, stdio: "pipe", encoding: "utf8", timeout: 300_000 });
  } catch (error) {
    throw new Error(`${file} ${args.join(" ")}\n${error.stdout}${error.stderr}`);
  }
};

/** Fails if npm refuses one of the versions. */
const install = (name, packages) => {
  const folder = join(around, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, private: true, type: "module" }));
  run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", resolve(tarball), ...packages], folder);
  return folder;
};
const evaluate = (folder, code) => run(process.execPath, ["--input-type=module", "-e", code], folder).trim();

const peers = Object.entries(peerVersions).filter(([name]) => !/^(@aws-sdk\/|@google-cloud\/|google-)/.test(name));
/** The oldest OpenTelemetry version is tested with the older peers below, because vitest 4 rejects it. */
const lineOf = (name, lines, round) =>
  name === "@opentelemetry/api" ? lines.at(-1) : lines[Math.min(round, lines.length - 1)];
const rounds = Math.max(...peers.map(([, lines]) => lines.length));
for (let round = 0; round < rounds; round++) {
  const packages = peers.map(([name, lines]) => `${name}@${lineOf(name, lines, round)}`);
  const folder = install(`round-${round}`, packages);
  evaluate(folder, works);
  writeFileSync(join(folder, "suite.test.js"), suite);
  run(process.execPath, [join("node_modules", "vitest", "vitest.mjs"), "run"], folder);
  console.log(`peers: ${packages.join(" ")} work`);
}

const older = ["vitest@3", "fast-check@3", "stripe@18", "@google-cloud/storage@7", "dockerode@3", "fastify@4"];
const [telemetry] = peerVersions["@opentelemetry/api"];
const folder = install("older", [...older, `@opentelemetry/api@${telemetry}`]);
evaluate(folder, `await import("portside/tracing");`);
const messages = evaluate(folder, refuses).split("\n");
assert.equal(messages.length, 4);
for (const [message, words] of messages.map((message, at) => [
  message,
  [
    /'vitest' 3\.\S+ is installed \(required: 4 or newer\): npm install vitest@5$/,
    /'stripe' 18\.\S+ is installed \(required: 23 or newer\): npm install stripe@23$/,
    /'@google-cloud\/storage' 7\.\S+ is installed \(required: 8 or newer\): npm install @google-cloud\/storage@8$/,
    /^portside\/http needs Fastify 5, but the application has 4\./,
  ][at],
]))
  assert.match(message, words);
console.log(`peers: @opentelemetry/api@${telemetry} works; ${older.join(" ")} install and are rejected with a message`);
