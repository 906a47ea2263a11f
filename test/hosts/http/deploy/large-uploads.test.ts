/**
 * Uploads of 101 MiB: every client receives the 422, with a Content-Length and with chunked encoding, and the server's
 * memory stays bounded. `PORTSIDE_RUNS=5` repeats each upload twenty times.
 */
import { randomBytes } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { tarOf } from "../../../support/archives/archives.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { type ServerProcess, startServer } from "../../../support/http/server-process.ts";
import {
  type UploadClient,
  type UploadResult,
  withCurl,
  withFetch,
  withPython,
} from "../../../support/http/upload-clients.ts";
import { needs } from "../../../support/vitest/machine.ts";
import { runs } from "../../../support/vitest/runs.ts";

const times = runs(4).numRuns;

let server: ServerProcess;
let folder: Folder;
let archive: string;
let noArchive: string;
let key: string;
/** The server's memory before the first upload, in bytes. */
let idle: number;

const write = (name: string, bytes: Uint8Array): string => {
  const path = join(folder.path, name);
  writeFileSync(path, bytes);
  return path;
};

beforeAll(async () => {
  folder = folderWith();
  // Without compression, the archive stays larger than 101 MiB and is quick to create.
  archive = write("big.tar.gz", gzipSync(tarOf([{ path: "big", content: Buffer.alloc(101 * MiB) }]), { level: 0 }));
  noArchive = write("no.tar.gz", randomBytes(101 * MiB));
  server = await startServer();
  key = await server.key();
  idle = await server.held();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const typesOf = ({ body }: UploadResult): string[] => JSON.parse(body).detail.map(({ type }: { type: string }) => type);

const clients: readonly (readonly [string, UploadClient, readonly ("curl" | "python")[]])[] = [
  ["Node's fetch", withFetch, []],
  ["curl", withCurl, ["curl"]],
  ["Python's http.client", withPython, ["python"]],
];

describe.each(clients)("%s", (_name, client, wanted) => {
  test.for([
    ["with a Content-Length", false],
    ["with chunked encoding", true],
  ] as const)("%s", { timeout: 240_000 }, async ([_how, chunked], context) => {
    needs(context, ...wanted);
    const upload = { url: server.url, key, archive, chunked };
    const seen = await client(upload, times);
    expect(seen.map(({ status }) => status)).toEqual(Array.from({ length: times }, () => 422));
    for (const one of seen) {
      expect(typesOf(one)).toEqual(["too_large"]);
      expect(JSON.parse(one.body).detail[0].loc).toEqual(["body", "source_archive"]);
    }
    expect(await server.spooled()).toEqual([]);
  });

  test("reports both issues of an invalid file that is also too large", async (context) => {
    needs(context, ...wanted);
    const seen = await client({ url: server.url, key, archive: noArchive, chunked: false }, 2);
    for (const one of seen) {
      expect(one.status).toBe(422);
      expect(typesOf(one).sort()).toEqual(["archive_invalid", "too_large"]);
    }
    expect(await server.spooled()).toEqual([]);
  });
});

test("the server keeps none of the files, and continues to serve", async () => {
  expect((await server.held()) - idle).toBeLessThan(64 * MiB);
  expect(await server.spooled()).toEqual([]);
  expect(readdirSync(folder.path)).toHaveLength(2);
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
});

test("rejects a hundred megabytes of text fields, without storing them", async () => {
  const before = await server.held();
  const form = new FormData();
  for (let n = 0; n < 100; n++) form.set(`field${n}`, "x".repeat(MiB));
  const headers = { "x-api-key": key };
  const response = await fetch(`${server.url}/v1/deploy`, { method: "POST", headers, body: form });
  expect(response.status).toBe(422);
  expect(typesOf({ status: 422, body: await response.text() })).toContain("too_large");
  expect((await server.held()) - before).toBeLessThan(64 * MiB);
});
