/** Sources on disk: stored completely and readable only by their owner, or not at all. */
import { createHash } from "node:crypto";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createDiskSpool } from "../../../../adapters/shared/archives/disk-spool.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import { bytesOf, sourceOf } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";

const archive = sourceOf({ "index.js": "run()" });

const spoolIn = (path: string) => createDiskSpool(path, randomIds);

const kept = async (spool: ReturnType<typeof spoolIn>, bytes: Uint8Array) => {
  const received = (await spool.receive(bytesOf(bytes, 100)))._unsafeUnwrap();
  if (received.kind !== "accepted") throw new Error(JSON.stringify(received.issues));
  return received.source;
};

test("stores a valid archive until it is discarded, and allows several reads", async () => {
  using folder = folderWith();
  const path = join(folder.path, "not", "there", "yet");
  const source = await kept(spoolIn(path), archive);
  expect(source.digest).toBe(`sha256:${createHash("sha256").update(archive).digest("hex")}`);
  expect(source.bytes).toBe(archive.length);
  for (let time = 0; time < 2; time++)
    expect(Buffer.concat(await Array.fromAsync(source.open())).equals(archive)).toBe(true);
  const [name] = readdirSync(path);
  expect(statSync(join(path, name as string)).mode & 0o777).toBe(0o600);
  await source.discard();
  await source.discard();
  expect(readdirSync(path)).toEqual([]);
});

test("concurrent uploads do not interfere", async () => {
  using folder = folderWith();
  const spool = spoolIn(folder.path);
  const sources = await Promise.all([kept(spool, archive), kept(spool, archive)]);
  expect(readdirSync(folder.path)).toHaveLength(2);
  await sources[0]?.discard();
  expect(Buffer.concat(await Array.fromAsync(sources[1]?.open() ?? [])).equals(archive)).toBe(true);
});

test("a rejected archive leaves nothing, and the rest is not read", async () => {
  using folder = folderWith();
  let read = 0;
  async function* endless() {
    for (;;) {
      read++;
      yield Buffer.alloc(1000, "no gzip");
    }
  }
  const received = (await spoolIn(folder.path).receive(endless()))._unsafeUnwrap();
  expect(received).toMatchObject({ kind: "rejected", issues: [{ path: ["source_archive"], type: "archive_invalid" }] });
  expect(read).toBe(1);
  expect(readdirSync(folder.path)).toEqual([]);
});

test("an aborted or failed upload leaves nothing", async () => {
  using folder = folderWith();
  const spool = spoolIn(folder.path);
  async function* broken() {
    yield archive.subarray(0, 50);
    throw new Error("the client left");
  }
  expect((await spool.receive(broken()))._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
  const givenUp = new AbortController();
  async function* slow() {
    yield archive.subarray(0, 50);
    givenUp.abort();
    yield archive.subarray(50);
  }
  expect((await spool.receive(slow(), { signal: givenUp.signal })).isErr()).toBe(true);
  expect(readdirSync(folder.path)).toEqual([]);
});

test("fails with unavailable if it cannot write, without the reason in the message", async () => {
  using folder = folderWith();
  const path = join(folder.path, "file");
  writeFileSync(path, "");
  const error = (await spoolIn(path).receive(bytesOf(archive)))._unsafeUnwrapErr();
  expect(error).toMatchObject({ kind: "unavailable", message: "The source could not be received. Send it again." });
  rmSync(path);
});
