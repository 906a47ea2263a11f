/** 256 MiB through the command line to the disk of a local platform. The test measures the memory of the process. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { peakOfCli } from "../../../support/cli/cli-process.ts";
import { serveApi } from "../../../support/http/api.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";

const MiB = 1024 ** 2;

/** All pieces differ, so that the digest shows a lost or swapped piece. */
function* pieces(count: number): Generator<Buffer> {
  for (let at = 0; at < count; at++) yield Buffer.alloc(MiB, createHash("sha256").update(String(at)).digest());
}

const sumOf = async (path: string): Promise<string> => {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
};

test("uploads and downloads 256 MiB unchanged, with flat memory", { timeout: 300_000 }, async () => {
  await using platform = await startLocal();
  await using api = await serveApi(platform.local.ports);
  using folder = folderWith();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  await api.call("POST", "/v1/volume/create", { json: { name: "data" } });
  const large = join(folder.path, "large");
  await pipeline(Readable.from(pieces(256)), createWriteStream(large));
  writeFileSync(join(folder.path, "small"), "x");
  mkdirSync(join(folder.path, "back"));
  const peak = (...args: string[]) => peakOfCli(["volume", ...args], env, folder.path);
  const idlePut = await peak("put", "data", "small");
  const idleGet = await peak("get", "data", "small", "back/");
  expect((await peak("put", "data", "large")) - idlePut).toBeLessThan(100 * MiB);
  expect((await peak("get", "data", "large", "back/")) - idleGet).toBeLessThan(100 * MiB);
  expect(await sumOf(join(folder.path, "back/large"))).toBe(await sumOf(large));
});
