// Runs two versions of the package in one process, each with its own dependencies. Neither may see the other's state,
// each must accept the other's objects, and neither may change globals or leave any behind.
//   node .ci/two-versions.mjs FOLDER      where the package is installed in FOLDER/node_modules
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const folder = join(process.argv[2], "two-versions");
rmSync(folder, { recursive: true, force: true });

const place = (name, version) => {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  // Hard links: Node treats them as separate files, and creating them is fast.
  execFileSync("cp", ["-rl", join(process.argv[2], "node_modules"), path]);
  const manifest = join(path, "node_modules", "portside", "package.json");
  const changed = { ...JSON.parse(readFileSync(manifest, "utf8")), version };
  rmSync(manifest);
  writeFileSync(manifest, JSON.stringify(changed));
  return createRequire(join(path, "index.js"));
};

const signals = ["uncaughtException", "unhandledRejection", "exit", "SIGTERM", "SIGINT", "warning"];
/**
 * Globals that copies of zod and undici share by design: zod's registry of schema metadata, and undici's connections of
 * `fetch`, which Node's own copy shares too.
 */
const ofOthers = /^(__zod_|Symbol\(undici\.)/;
/** Global state that one copy could change for the other. */
const globals = () => ({
  names: Reflect.ownKeys(globalThis)
    .map(String)
    .filter((name) => !ofOthers.test(name))
    .sort(),
  prototypes: [Object, Array, Promise, Map, Error, String, Function].map(
    ({ prototype }) => Reflect.ownKeys(prototype).length,
  ),
  listeners: signals.map((name) => process.listenerCount(name)),
});

const load = async (require) => {
  const from = (name) => import(pathToFileURL(require.resolve(name)).href);
  const [core, memory, http, composition, fastify] = await Promise.all(
    ["portside", "portside/memory", "portside/http", "portside/composition", "fastify"].map(from),
  );
  return { core, memory, http, composition, Fastify: fastify.default };
};

/** Builds a ustar archive of one file without a library. */
const archiveOf = (path, content) => {
  const header = Buffer.alloc(512);
  header.write(path, 0);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return gzipSync(Buffer.concat([header, Buffer.from(content.padEnd(512, "\0")), Buffer.alloc(1024)]));
};

const call = async (url, path, { key, form } = {}) => {
  const response = await fetch(url + path, {
    method: form === undefined ? "GET" : "POST",
    headers: key === undefined ? {} : { "x-api-key": key },
    ...(form === undefined ? {} : { body: form }),
  });
  return { status: response.status, text: await response.text() };
};

const deploy = (url, key, name) => {
  const form = new FormData();
  form.set("function_name", name);
  form.set("volumes", "{}");
  form.set("source_archive", new Blob([archiveOf("index.js", "run()")]), "source.tar.gz");
  return call(url, "/v1/deploy", { key, form });
};

const keyOf = async (ports, account) => {
  const made = await ports.identity.keys.create(account, "test");
  assert.ok(made.isOk());
  return made.value.key;
};

const before = globals();
const [one, two] = [await load(place("one", "1.0.0")), await load(place("two", "2.0.0"))];
assert.notEqual(one.core.createControlPlane, two.core.createControlPlane, "there are two copies");
const closers = [];

/** Serves one copy's plugin with a control plane of either copy. */
const serve = async ({ Fastify, http }, controlPlane) => {
  const app = Fastify();
  await app.register(http.portside, { controlPlane });
  closers.unshift(() => app.close());
  return app.listen({ host: "127.0.0.1", port: 0 });
};

const platformOf = async ({ composition }, name) => {
  const dataDir = join(folder, `data-${name}`);
  const settings = composition.resolveSettings({ provider: "memory", dataDir, logLevel: "silent" }, {});
  const platform = await composition.buildPlatform(settings);
  closers.unshift(() => platform.close());
  return platform;
};

const [first, second] = [await platformOf(one, "one"), await platformOf(two, "two")];
const urls = [await serve(one, first.controlPlane), await serve(two, second.controlPlane)];
const keys = [await keyOf(first.ports, "acme"), await keyOf(second.ports, "acme")];

// Each copy has its own state, although accounts and names are the same.
const deploys = await Promise.all(urls.map((url, index) => deploy(url, keys[index], "app")));
for (const { status, text } of deploys) assert.ok(status === 200 && text.includes('"DONE"'), text);
assert.equal((await deploy(urls[0], keys[0], "only-here")).status, 200);
const names = await Promise.all(
  urls.map(async (url, index) =>
    JSON.parse((await call(url, "/v1/deployment/list", { key: keys[index] })).text).map(({ name }) => name),
  ),
);
assert.deepEqual(
  names.map((all) => all.toSorted()),
  [["app", "only-here"], ["app"]],
);
assert.equal((await call(urls[1], "/v1/deployment/list", { key: keys[0] })).status, 401, "a key of the other copy");

// One copy's host reports the other's errors correctly, because it checks their kind and not their class.
const mixed = await serve(two, first.controlPlane);
assert.equal((await call(mixed, "/v1/deployment/list")).status, 401);
assert.equal((await call(mixed, "/v1/deploy/unknown", { key: keys[0] })).status, 404);
const refused = await deploy(mixed, keys[0], "Not A Name");
assert.equal(refused.status, 422, refused.text);
const documents = await Promise.all(urls.map(async (url) => JSON.parse((await call(url, "/openapi.json")).text)));
assert.deepEqual(documents[0].paths, documents[1].paths);
assert.deepEqual(documents[0].components, documents[1].components);
assert.deepEqual(one.core.errorKinds, two.core.errorKinds);

// One copy's control plane works on the other's provider.
const crossed = two.core.createControlPlane(one.memory.createMemoryProvider().ports);
closers.unshift(() => crossed.close());
const principal = { account: two.core.parseAccount("acme"), credentialId: "test" };
assert.deepEqual((await crossed.listDeployments(principal)).value, []);
const unknown = await crossed.deleteDeployment(principal, { name: "unknown" });
assert.ok(unknown.isErr() && unknown.error.kind === "not_found");

// Closing one does not close the other.
await first.close();
assert.equal((await deploy(urls[1], keys[1], "after")).status, 200);
for (const close of closers) await close();
assert.deepEqual(globals(), before, "nothing global is changed or left");
rmSync(folder, { recursive: true, force: true });
console.log("two versions in one process: isolated and compatible");
