/** Uploads in parts on this machine: interrupted parts, restarts, concurrent changes, and the deletion after 24 hours. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { createLocalProvider } from "../../../../adapters/local/index.ts";
import { PartFiles } from "../../../../adapters/local/volumes/part-files.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, type Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import type { UploadsInParts } from "../../../../core/ports/volume-store.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { completeUpload } from "../../../contracts/volume-uploads.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { serveObjects, type TestStorage } from "../../../support/providers/local-objects.ts";
import { eventually } from "../../../support/vitest/eventually.ts";
import { runs } from "../../../support/vitest/runs.ts";

const PATH = "a/file" as ObjectPath;
const BUCKET = "vol-test";
const ALWAYS = { ifMatch: undefined, ifNoneMatch: undefined };

const begin = ({ objects }: TestStorage): Promise<string> =>
  objects.beginUpload(BUCKET, PATH, instantOfMillis(Date.now()));

const putPart = async ({ objects }: TestStorage, id: string, number: number, body: string): Promise<string> => {
  const outcome = await objects.putPart(BUCKET, PATH, id, number, Readable.from([Buffer.from(body)]));
  return outcome.kind === "stored" ? outcome.etag : outcome.kind;
};

test("a part that is truncated anywhere leaves the earlier part and no partial file", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const id = await begin(storage);
  const [url = ""] = storage.partUrls(PATH, id, [400_000]).urls;
  const before = (await fetch(url, { method: "PUT", body: "x".repeat(400_000) })).headers.get("etag");
  const cutAfter = (bytes: number): Promise<void> =>
    new Promise((resolve) => {
      const req = request(url, { method: "PUT", headers: { "content-length": 400_000 } });
      req.on("error", () => resolve()).on("close", () => resolve());
      req.write(Buffer.alloc(bytes, "y"), () => setTimeout(() => req.destroy(), 5));
    });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 399_999 }), async (bytes) => {
      await cutAfter(bytes);
      await eventually(() => expect(readdirSync(storage.uploads)).toEqual([]));
      expect(await storage.objects.storedParts(BUCKET, PATH, id)).toEqual([{ number: 1, size: 400_000, etag: before }]);
    }),
    runs(20),
  );
  expect(storage.complaints).toEqual([]);
});

test("a part needs a Content-Length", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const [url = ""] = storage.partUrls(PATH, await begin(storage), [3]).urls;
  const init = { method: "PUT", body: ReadableStream.from([Buffer.from("abc")]), duplex: "half" } as RequestInit;
  expect((await fetch(url, init)).status).toBe(411);
});

test.each([
  ["no parts", "<CompleteMultipartUpload></CompleteMultipartUpload>"],
  [
    "parts in the wrong order",
    "<Part><PartNumber>2</PartNumber><ETag>a</ETag></Part><Part><PartNumber>1</PartNumber><ETag>b</ETag></Part>",
  ],
  ["a part twice", "<Part><PartNumber>1</PartNumber><ETag>a</ETag></Part>".repeat(2)],
  ["a part without a number", "<Part><ETag>a</ETag></Part>"],
  ["other bytes", "\0".repeat(5_000_000)],
])("a completion that lists %s is malformed", async (_, body) => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const { completeUrl } = storage.partUrls(PATH, await begin(storage), [3]);
  const refused = await fetch(completeUrl, { method: "POST", body });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("<Code>MalformedXML</Code>")]);
});

test("a restart keeps the parts of an upload", async () => {
  using folder = folderWith();
  let id: string;
  let tag: string;
  {
    await using storage = await serveObjects(folder.path);
    id = await begin(storage);
    tag = await putPart(storage, id, 1, "abc");
  }
  await using storage = await serveObjects(folder.path);
  expect(await storage.objects.storedParts(BUCKET, PATH, id)).toEqual([{ number: 1, size: 3, etag: tag }]);
  expect(await completeUpload(storage.partUrls(PATH, id, [3]).completeUrl, [[1, tag]])).toBe(true);
  expect(readFileSync(join(storage.folder, PATH), "utf8")).toBe("abc");
  expect(readdirSync(join(folder.path, "parts"))).toEqual([]);
  expect(readdirSync(storage.uploads)).toEqual([]);
});

test("a part that changes during the completion fails it, and the upload remains", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const id = await begin(storage);
  const [first, second] = [await putPart(storage, id, 1, "abc"), await putPart(storage, id, 2, "def")];
  const listed = [
    { number: 1, etag: first },
    { number: 2, etag: second },
  ];
  const read = PartFiles.prototype.read;
  let changed = "";
  {
    using _changing = vi.spyOn(PartFiles.prototype, "read").mockImplementation(async function* (
      this: PartFiles,
      ...args
    ) {
      changed = await putPart(storage, id, 2, "xyz");
      yield* read.apply(this, args);
    });
    expect(await storage.objects.complete(BUCKET, PATH, id, listed, 6, ALWAYS)).toEqual({
      kind: "invalid_part",
      number: 2,
    });
  }
  expect(await storage.objects.find(BUCKET, PATH)).toBeUndefined();
  const again = [listed[0] as (typeof listed)[number], { number: 2, etag: changed }];
  expect(await storage.objects.complete(BUCKET, PATH, id, again, 6, ALWAYS)).toMatchObject({ kind: "stored" });
  expect(readFileSync(join(storage.folder, PATH), "utf8")).toBe("abcxyz");
});

test("an upload is complete even if its parts cannot be deleted", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const id = await begin(storage);
  const { urls, completeUrl } = storage.partUrls(PATH, id, [3]);
  const tag = (await fetch(urls[0] ?? "", { method: "PUT", body: "abc" })).headers.get("etag") ?? "";
  {
    using _failing = vi.spyOn(PartFiles.prototype, "remove").mockRejectedValue(new Error("EIO: i/o error"));
    expect(await completeUpload(completeUrl, [[1, tag]])).toBe(true);
  }
  expect(readFileSync(join(storage.folder, PATH), "utf8")).toBe("abc");
  expect(storage.complaints).toMatchObject([{ upload: id, cause: { message: "EIO: i/o error" } }]);
});

test("a completion whose parts disappear fails as if the upload did not exist", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const read = PartFiles.prototype.read;
  const completeAfter = async (change: (id: string) => void) => {
    const id = await begin(storage);
    const listed = [
      { number: 1, etag: await putPart(storage, id, 1, "abc") },
      { number: 2, etag: await putPart(storage, id, 2, "def") },
    ];
    using _changing = vi.spyOn(PartFiles.prototype, "read").mockImplementation(async function* (
      this: PartFiles,
      ...args
    ) {
      change(join(folder.path, "parts", id));
      yield* read.apply(this, args);
    });
    return await storage.objects.complete(BUCKET, PATH, id, listed, 6, ALWAYS);
  };
  expect(await completeAfter((parts) => rmSync(parts, { recursive: true }))).toEqual({ kind: "no_upload" });
  expect(await completeAfter((parts) => rmSync(join(parts, "2")))).toEqual({ kind: "invalid_part", number: 2 });
  expect(await storage.objects.find(BUCKET, PATH)).toBeUndefined();
  expect(readdirSync(storage.uploads)).toEqual([]);
});

test("the sweep waits for an expired upload that is being completed", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const id = await begin(storage);
  const listed = [
    { number: 1, etag: await putPart(storage, id, 1, "abc") },
    { number: 2, etag: await putPart(storage, id, 2, "def") },
  ];
  const read = PartFiles.prototype.read;
  let sweeping: Promise<void> | undefined;
  using _sweeping = vi.spyOn(PartFiles.prototype, "read").mockImplementation(async function* (
    this: PartFiles,
    ...args
  ) {
    sweeping = storage.objects.sweepUploads(instantOfMillis(Date.now() + 24 * 3_600_000));
    const pause = new Promise((resolve) => setTimeout(() => resolve("waits"), 100));
    expect(await Promise.race([sweeping, pause])).toBe("waits");
    yield* read.apply(this, args);
  });
  expect(await storage.objects.complete(BUCKET, PATH, id, listed, 6, ALWAYS)).toMatchObject({ kind: "stored" });
  await sweeping;
  expect(readFileSync(join(storage.folder, PATH), "utf8")).toBe("abcdef");
  expect(readdirSync(join(folder.path, "parts"))).toEqual([]);
});

test("a completion honors conditions, and keeps the upload if they do not hold", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  await storage.put(PATH, "before");
  const id = await begin(storage);
  const { urls, completeUrl } = storage.partUrls(PATH, id, [3]);
  const tag = (await fetch(urls[0] ?? "", { method: "PUT", body: "abc" })).headers.get("etag");
  const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${tag}</ETag></Part></CompleteMultipartUpload>`;
  const refused = await fetch(completeUrl, { method: "POST", body, headers: { "if-none-match": "*" } });
  expect(refused.status).toBe(412);
  expect(readFileSync(join(storage.folder, PATH), "utf8")).toBe("before");
  expect((await fetch(completeUrl, { method: "POST", body })).status).toBe(200);
});

test("a completion whose path is a folder names the conflicting object", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  await storage.put(`${PATH}/inner`, "kept");
  const id = await begin(storage);
  const { urls, completeUrl } = storage.partUrls(PATH, id, [3]);
  const tag = (await fetch(urls[0] ?? "", { method: "PUT", body: "abc" })).headers.get("etag");
  const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${tag}</ETag></Part></CompleteMultipartUpload>`;
  const refused = await fetch(completeUrl, { method: "POST", body });
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("'a/file/inner'")]);
});

test("the sweep deletes uploads of deleted volumes, and parts that could not be deleted", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const id = await begin(storage);
  await storage.objects.beginUpload("vol-deleted", PATH, instantOfMillis(Date.now()));
  mkdirSync(join(folder.path, "parts", `${id}.removed`));
  await storage.objects.sweepUploads(instantOfMillis(Date.now()));
  expect(readdirSync(join(folder.path, "parts"))).toEqual([id]);
});

test("the sweep deletes uploads after 24 hours, and nothing else", async () => {
  using folder = folderWith();
  await using storage = await serveObjects(folder.path);
  const start = 1_800_000_000_000;
  const id = await storage.objects.beginUpload(BUCKET, PATH, instantOfMillis(start));
  await putPart(storage, id, 1, "abc");
  mkdirSync(join(folder.path, "parts", "unknown"));
  const kept = () => readdirSync(join(folder.path, "parts")).sort();
  await storage.objects.sweepUploads(instantOfMillis(start + 24 * 3_600_000 - 1));
  expect(kept()).toEqual([id, "unknown"]);
  await storage.objects.sweepUploads(instantOfMillis(start + 24 * 3_600_000));
  expect(kept()).toEqual(["unknown"]);
  expect(await putPart(storage, id, 1, "abc")).toBe("no_upload");
});

test("the deletion of a volume deletes its own uploads, but no others", async () => {
  using folder = folderWith();
  const config = { dataDir: folder.path, runner: "process", ingressPort: 0 } as const;
  const { provider, close } = await createLocalProvider(config, { logger: silentLogger });
  const { volumes } = provider;
  const { begin: beginUpload, pending } = volumes.uploadsInParts as UploadsInParts;
  const owner = "acme" as AccountId;
  const { volume } = await expectOk(volumes.create(owner, "data" as VolumeName));
  const { volume: other } = await expectOk(volumes.create(owner, "other" as VolumeName));
  for (const one of [volume, volume, other]) await expectOk(beginUpload(one, PATH));
  expect([await expectOk(pending(volume)), await expectOk(pending(other))]).toEqual([2, 1]);
  await expectOk(volumes.beginDelete(volume));
  await expectOk(volumes.moveToTrash(volume, "2026-01-01T00:00:00+00:00" as Timestamp));
  expect(readdirSync(join(folder.path, "storage", "parts"))).toEqual([expect.stringContaining(other.id)]);
  await close();
});

test("the server deletes expired uploads at its start", async () => {
  using folder = folderWith();
  const clock = createManualClock("2026-01-01T00:00:00Z");
  const config = { dataDir: folder.path, runner: "process", ingressPort: 0 } as const;
  const open = () => createLocalProvider(config, { clock, logger: silentLogger });
  const inParts = ({ provider }: Awaited<ReturnType<typeof open>>) => provider.volumes.uploadsInParts as UploadsInParts;
  const first = await open();
  const { volume } = await expectOk(first.provider.volumes.create("acme" as AccountId, "data" as VolumeName));
  const upload = { volume, path: PATH, id: await expectOk(inParts(first).begin(volume, PATH)) };
  await first.close();
  await clock.advance(23 * 3_600_000);
  const second = await open();
  expect(await expectOk(inParts(second).stored(upload))).toEqual([]);
  await second.close();
  await clock.advance(3_600_000);
  const third = await open();
  expect((await expectError(inParts(third).stored(upload))).kind).toBe("not_found");
  await third.close();
});
