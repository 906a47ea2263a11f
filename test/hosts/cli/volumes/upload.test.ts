/** A failed upload reports its reason, and the previous object stays unchanged. */
import { expect, test } from "vitest";
import { clientOf } from "../../../../hosts/cli/client.ts";
import { type Source, uploadSource } from "../../../../hosts/cli/volumes/transfer/source.ts";
import { uploadObject } from "../../../../hosts/client/storage/upload.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveVolume } from "../../../support/cli/volume-cli.ts";
import { serveApi } from "../../../support/http/api.ts";
import { serveFakeStorage } from "../../../support/providers/fake-storage.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";

const sourceOf = (size: number, open: Source["open"]): Source => ({ name: "file", size, open });

test.each([
  [
    "that becomes shorter",
    "became shorter",
    sourceOf(10, async function* () {
      yield "12345";
    }),
  ],
  [
    "that cannot be read to its end",
    "input/output error",
    sourceOf(10, async function* () {
      yield "12345";
      throw new Error("EIO: input/output error, read");
    }),
  ],
])("fails immediately for a file %s", async (_, words, source) => {
  await using cli = await serveVolume();
  await cli.write("file", "before");
  const client = clientOf({ url: cli.api.url, apiKey: await cli.api.key() });
  let moved = 0;
  const { signal } = new AbortController();
  const onSent = (bytes: number) => {
    moved += bytes;
  };
  const sent = uploadObject(client, { volume: "data", path: "file" }, uploadSource(source, onSent), signal, onSent);
  await expect(sent).rejects.toThrow(words);
  expect(moved).toBe(0);
  expect(String(await cli.read("file"))).toBe("before");
});

test.each([
  [507, JSON.stringify({ detail: "The storage is full; nothing was written." }), "The storage is full"],
  [409, JSON.stringify({ detail: "'a' is in the way." }), "'a' is in the way."],
  [412, "<Error>not JSON</Error>", "The platform responded with status 412."],
])("reports a %d that the storage sends before it has read the file", async (status, body, words) => {
  await using served = await serveFakeStorage((_req, res) => {
    res.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  using folder = folderWith({ file: "x".repeat(20_000_000) });
  const { code, stderr } = await served.cli.volume(["put", "data", "file"], { cwd: folder.path, env: served.env });
  expect(code).toBe(1);
  expect(stderr).toContain(words);
});

test("retries if the storage is busy", async () => {
  let asked = 0;
  await using served = await serveFakeStorage((req, res) => {
    req.resume().on("end", () => res.writeHead(++asked === 1 ? 503 : 204, { "retry-after": "0" }).end());
  });
  using folder = folderWith({ file: "x" });
  const ran = await served.cli.volume(["put", "data", "file"], { cwd: folder.path, env: served.env });
  expect(ran).toMatchObject({ code: 0 });
  expect(asked).toBe(2);
});

test("names the conflicting path of a file tree", async () => {
  await using platform = await startLocal();
  await using api = await serveApi(platform.local.ports);
  using folder = folderWith({ a: "1" });
  const options = { cwd: folder.path, env: { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() } };
  const volume = (...args: string[]) => portside(["volume", ...args], options);
  await volume("create", "data");
  expect(await volume("put", "data", "a", "x")).toMatchObject({ code: 0 });
  const { code, stderr } = await volume("put", "data", "a", "x/y");
  expect(code).toBe(1);
  expect(stderr).toContain("'x/y' cannot be stored together with 'x'");
});
