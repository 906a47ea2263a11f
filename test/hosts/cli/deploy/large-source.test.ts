/** `portside deploy` with a source that is too large for a request. The test lowers the limit to 1 KiB. */
import { randomBytes } from "node:crypto";
import { expect, test, vi } from "vitest";
import { createClient } from "../../../../hosts/client/index.ts";
import {
  type DeploySourceOptions,
  deploySource,
  type PackedSource,
  SOURCE_VOLUME,
} from "../../../../hosts/client/storage/deploy-source.ts";
import { helloServer, sourceOf } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveApi, serveMemory, type TestApi } from "../../../support/http/api.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";

// The server has the same limit, so it would reject the source in a request.
vi.mock("../../../../core/domain/accounts/limits.ts", async (original) => {
  const limits = await original<typeof import("../../../../core/domain/accounts/limits.ts")>();
  return { ...limits, archiveLimits: { ...limits.archiveLimits, fileBytes: 1024 } };
});

const project = () => ({
  "package.json": JSON.stringify({ name: "large", scripts: { start: "node server.js" } }),
  "portside.json": JSON.stringify({ name: "large", volumes: {} }),
  "server.js": helloServer("large source"),
  "random.txt": randomBytes(20_000).toString("base64"),
});

const clientFor = async (api: TestApi) => createClient({ url: api.url, key: await api.key() });

const storedIn = async (api: TestApi): Promise<readonly string[]> => {
  const { objects } = await (await clientFor(api)).listObjects({ volume: SOURCE_VOLUME });
  return objects.map(({ path }) => path);
};

test.each(["memory", "local"] as const)("deploys through a volume, and deletes the object (%s)", async (provider) => {
  using folder = folderWith(project());
  await using platform = provider === "local" ? await startLocal() : undefined;
  await using api = platform === undefined ? await serveMemory() : await serveApi(platform.local.ports);
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  for (let round = 0; round < 2; round++) {
    const { code, stdout, stderr } = await portside(["deploy", folder.path], { env });
    expect(stderr).toMatch(/The packed source is 0\.0 MiB\. Uploading it to the volume 'portside-sources'\./);
    expect(stdout).toMatch(/Fetching the source 'portside-sources\/large\/[0-9a-f-]{36}\.tar\.gz'/);
    expect(code).toBe(0);
    expect(await storedIn(api)).toEqual([]);
  }
  if (provider === "memory") return;
  const [{ url = "" } = {}] = await (await clientFor(api)).listDeployments();
  expect(await (await fetch(url as string)).text()).toContain("large source");
});

const archive = sourceOf({ "index.js": "run()", "random.txt": randomBytes(20_000).toString("base64") });

const request = { function_name: "large", volumes: {} };

const packed: PackedSource = {
  bytes: archive.length,
  archive: new Blob([new Uint8Array(archive)]),
  upload: (onSent) => ({
    size: archive.length,
    send: async (url, _range, signal) => {
      const response = await fetch(url, { method: "PUT", body: new Uint8Array(archive), signal });
      onSent(archive.length);
      return { sent: archive.length, tag: response.headers.get("etag") ?? "" };
    },
  }),
};

const options = (more: Partial<DeploySourceOptions> = {}): DeploySourceOptions => ({
  signal: new AbortController().signal,
  onUpload: () => {},
  ...more,
});

test("a request that the platform rejects uploads nothing", async () => {
  await using api = await serveMemory();
  const client = await clientFor(api);
  await expect(deploySource(client, { ...request, memory: "1Ti" }, packed, options())).rejects.toThrow("memory");
  expect(await client.listVolumes()).toEqual([]);
});

test("a cancelled upload leaves no object, and starts no deploy", async () => {
  await using api = await serveMemory();
  const client = await clientFor(api);
  const controller = new AbortController();
  const upload: PackedSource["upload"] = () => ({
    size: archive.length,
    send: async (_url, _range, signal) => {
      controller.abort();
      signal.throwIfAborted();
      throw new Error("The upload was not cancelled.");
    },
  });
  const cancelled = deploySource(client, request, { ...packed, upload }, options({ signal: controller.signal }));
  await expect(cancelled).rejects.toThrow("aborted");
  expect(await storedIn(api)).toEqual([]);
  expect((await client.listDeploys()).deploys).toEqual([]);
});

test("an interrupted command states that nothing was deployed", async () => {
  await using api = await serveMemory();
  using folder = folderWith(project());
  const controller = new AbortController();
  const { code, stderr } = await portside(["deploy", folder.path], {
    env: { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() },
    signal: controller.signal,
    onError: (text) => text.includes("Uploading it") && controller.abort(),
  });
  expect(code).toBe(130);
  expect(stderr).toContain("Interrupted. Nothing was deployed, because the upload was incomplete.");
});

test("a deploy that the platform rejects after the upload leaves no object", async () => {
  await using api = await serveMemory();
  const client = await clientFor(api);
  const failing = { ...client, deploy: (fields: typeof request) => client.deploy({ ...fields, source_object: "x/y" }) };
  await expect(deploySource(failing, request, packed, options())).rejects.toMatchObject({ status: 404 });
  expect(await storedIn(api)).toEqual([]);
});

test("reports the sent bytes, and deletes objects of deploys whose client ended a day ago", async () => {
  await using api = await serveMemory();
  const client = await clientFor(api);
  // The client does not read the records, so the objects remain.
  const sent: number[] = [];
  await deploySource(client, request, packed, options({ onUpload: (bytes) => sent.push(bytes) }));
  expect(sent.at(-1)).toBe(archive.length);
  await deploySource(client, request, packed, options());
  const [old, recent] = await storedIn(api);
  const listObjects: typeof client.listObjects = async (query, more) => {
    const page = await client.listObjects(query, more);
    const aged = page.objects.map((one) => (one.path === old ? { ...one, updated: "2020-01-01T00:00:00+00:00" } : one));
    return { ...page, objects: aged };
  };
  await Array.fromAsync(await deploySource({ ...client, listObjects }, request, packed, options()));
  expect(await storedIn(api)).toEqual([recent]);
});
