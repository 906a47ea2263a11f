/** `portside/client` is small, and runs without Node: its bundle has neither the schemas nor the control plane. */
import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import { sourceOf } from "../../support/archives/archives.ts";
import { serveMemory } from "../../support/http/api.ts";

const MOST_BYTES = 10_000;

const { outputFiles, metafile } = buildSync({
  entryPoints: ["hosts/client/index.ts"],
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: "iife",
  globalName: "portside",
  platform: "browser",
  target: "es2022",
});
const bundle = outputFiles[0]?.text ?? "";

test("is less than 10 kB compressed", () => {
  expect(gzipSync(bundle).length).toBeLessThan(MOST_BYTES);
});

test("contains the client and rules without imports, and no package", () => {
  const inputs = Object.keys(metafile.inputs).filter((path) => !path.startsWith("hosts/client/"));
  expect(inputs.sort()).toEqual([
    "core/domain/accounts/limits.ts",
    "core/domain/deploy/outcome.ts",
    "core/domain/logs/follow-log.ts",
    "hosts/http/error-response.ts",
  ]);
});

/** Globals that browsers have too. */
const browser = {
  fetch,
  URL,
  URLSearchParams,
  Headers,
  Response,
  Blob,
  TextEncoder,
  TextDecoder,
  AbortController,
  AbortSignal,
  setTimeout,
  clearTimeout,
  performance,
  crypto,
  Uint8Array,
  Uint32Array,
};

test("deploys, follows the deploy and reads the log without the globals of Node", async () => {
  await using api = await serveMemory();
  const source = new Blob([new Uint8Array(sourceOf({ "index.js": "run()" }))]);
  const context = createContext({ ...browser, options: { url: api.url, key: await api.key() }, source });
  const run = `(async () => {
    if (typeof process !== "undefined" || typeof Buffer !== "undefined") throw new Error("has globals of Node");
    const client = portside.createClient(options);
    const statuses = [];
    let id;
    for await (const record of await client.deploy({ function_name: "app", volumes: {}, source_archive: source })) {
      statuses.push(record.status);
      id = record.deploy_id;
    }
    let followed = 0;
    for await (const _ of client.followDeploy({ deploy_id: id })) followed++;
    const { value } = await client.followLogs({ deployment_name: "app" }).next();
    return [statuses.at(-1), followed === statuses.length, value.log_name];
  })()`;
  expect(await runInContext(`${bundle};${run}`, context)).toEqual(["DONE", true, "platform"]);
});
