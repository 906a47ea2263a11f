/** The fake Cloud Storage behaves as documented, as seen by the official client. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type ApiError, Storage } from "@google-cloud/storage";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/index.ts";
import { type FakeStorage, startFakeStorage } from "./index.ts";

let fake: FakeStorage;
let storage: Storage;
let clock: ManualClock;

beforeEach(async () => {
  clock = createManualClock(new Date().toISOString());
  fake = await startFakeStorage({ clock });
  storage = new Storage(fake.storageClientOptions);
});
afterEach(() => fake.close());

const codeOf = async (work: Promise<unknown>): Promise<number | string | undefined> => {
  try {
    await work;
    return "ok";
  } catch (error) {
    return (error as ApiError).code;
  }
};

const save = (bucket: string, name: string, content: string) =>
  storage.bucket(bucket).file(name).save(content, { resumable: false });

const contentOf = async (bucket: string, name: string): Promise<string> =>
  (await storage.bucket(bucket).file(name).download())[0].toString();

const namesOf = async (bucket: string, options = {}): Promise<string[]> =>
  (await storage.bucket(bucket).getFiles(options))[0].map((file) => file.name);

/** Fetches page by page, without the library's auto-pagination. */
const pagesOf = async <Q extends object>(page: (query: Q) => Promise<[{ name: string }[], ...unknown[]]>, query: Q) => {
  const names: string[][] = [];
  for (let next: Q | null = query; next !== null; ) {
    const [items, more]: [{ name: string }[], ...unknown[]] = await page(next);
    names.push(items.map(({ name }) => name));
    next = (more as Q | null | undefined) ?? null;
  }
  return names;
};

const days = (count: number) => clock.advance(count * 86_400_000);

describe("buckets", () => {
  test("are created once, read, changed and deleted", async () => {
    const [bucket] = await storage.createBucket("a-bucket", { location: "EU" });
    expect(await codeOf(storage.createBucket("a-bucket"))).toBe(409);
    await bucket.setMetadata({ labels: { one: "1", two: "2" } });
    await bucket.setMetadata({ labels: { one: null } });
    const [metadata] = await storage.bucket("a-bucket").getMetadata();
    expect(metadata).toMatchObject({ name: "a-bucket", location: "EU", labels: { two: "2" }, metageneration: "3" });
    await bucket.delete();
    expect(await codeOf(bucket.getMetadata())).toBe(404);
  });

  test("are returned in the recorded form", async () => {
    const uniform = { uniformBucketLevelAccess: { enabled: true } };
    const off = { softDeletePolicy: { retentionDurationSeconds: 0 } };
    await storage.createBucket("regional", { location: "europe-west1", iamConfiguration: uniform });
    await storage.createBucket("plain", off);
    const [regional] = await storage.bucket("regional").getMetadata();
    const [plain] = await storage.bucket("plain").getMetadata();
    expect(regional).toMatchObject({
      location: "EUROPE-WEST1",
      locationType: "region",
      storageClass: "STANDARD",
      etag: expect.any(String),
      iamConfiguration: { bucketPolicyOnly: { enabled: true, lockedTime: expect.any(String) } },
      softDeletePolicy: { retentionDurationSeconds: "604800", effectiveTime: expect.any(String) },
    });
    expect([regional.rpo, regional.labels]).toEqual([undefined, undefined]);
    expect(plain).toMatchObject({
      location: "US",
      locationType: "multi-region",
      rpo: "DEFAULT",
      projectNumber: expect.any(String),
      iamConfiguration: { publicAccessPrevention: "inherited", uniformBucketLevelAccess: { enabled: false } },
    });
    expect(plain.softDeletePolicy).toEqual({ retentionDurationSeconds: "0" });
  });

  test("are rejected with invalid names, labels or soft delete durations", async () => {
    for (const name of ["Upper", "ab", "-start", "my-google-data", "a_g00gle", "x".repeat(64)])
      expect(await codeOf(storage.createBucket(name)), name).toBe(400);
    expect(await codeOf(storage.createBucket("labels", { labels: { Upper: "x" } }))).toBe(400);
    expect(await codeOf(storage.createBucket("labels", { labels: { a: "x".repeat(64) } }))).toBe(400);
    const days6 = { softDeletePolicy: { retentionDurationSeconds: 6 * 86_400 } };
    expect(await codeOf(storage.createBucket("soft", days6))).toBe(400);
  });

  test("of other projects take names and are not readable", async () => {
    fake.world.strangers.add("theirs");
    expect(await codeOf(storage.createBucket("theirs"))).toBe(409);
    expect(await codeOf(storage.bucket("theirs").getMetadata())).toBe(403);
  });

  test("are listed by prefix, in pages", async () => {
    for (const name of ["b-2", "a-1", "b-1", "b-3"]) await storage.createBucket(name);
    const query = { prefix: "b-", maxResults: 2, autoPaginate: false };
    expect(await pagesOf((page: typeof query) => storage.getBuckets(page), query)).toEqual([["b-1", "b-2"], ["b-3"]]);
    expect(fake.faults.count("storage.buckets.list")).toBe(2);
  });

  test("are changed only if a metageneration condition holds", async () => {
    const [bucket] = await storage.createBucket("conditional");
    const stale = { ifMetagenerationMatch: 7 };
    expect(await codeOf(bucket.setMetadata({ labels: { a: "1" } }, stale))).toBe(412);
    expect(await codeOf(bucket.setMetadata({ labels: { a: "1" } }, { ifMetagenerationMatch: 1 }))).toBe("ok");
  });

  test("with objects cannot be deleted; deleted buckets can be restored for a week, without their objects", async () => {
    const [bucket] = await storage.createBucket("kept");
    await save("kept", "a", "content");
    expect(await codeOf(bucket.delete())).toBe(409);
    await bucket.file("a").delete();
    await bucket.delete();
    const [[deleted]] = await storage.getBuckets({ softDeleted: true });
    const { generation } = deleted?.metadata ?? {};
    expect(deleted?.metadata).toMatchObject({ name: "kept", hardDeleteTime: expect.any(String) });
    await storage.createBucket("kept");
    expect(await codeOf(storage.bucket("kept").restore({ generation: String(generation) }))).toBe(409);
    await storage.bucket("kept").delete();
    await storage.bucket("kept").restore({ generation: String(generation) });
    expect(await namesOf("kept")).toEqual([]);
    const [[gone]] = await storage.bucket("kept").getFiles({ softDeleted: true });
    await storage
      .bucket("kept")
      .file("a")
      .restore({ generation: Number(gone?.metadata.generation) });
    expect(await contentOf("kept", "a")).toBe("content");
  });

  test("cannot be restored after a week", async () => {
    await (await storage.createBucket("week"))[0].delete();
    await days(6.9);
    expect((await storage.getBuckets({ softDeleted: true }))[0]).toHaveLength(1);
    await days(0.2);
    expect((await storage.getBuckets({ softDeleted: true }))[0]).toEqual([]);
  });
});

describe("policies", () => {
  test("are written with an etag condition, and never public if that is prevented", async () => {
    const iamConfiguration = { publicAccessPrevention: "enforced" };
    const [bucket] = await storage.createBucket("policies", { iamConfiguration });
    const [policy] = await bucket.iam.getPolicy();
    const binding = { role: "roles/storage.objectAdmin", members: ["serviceAccount:a@b.iam.gserviceaccount.com"] };
    await bucket.iam.setPolicy({ ...policy, bindings: [binding] });
    expect(await codeOf(bucket.iam.setPolicy({ ...policy, bindings: [] }))).toBe(412);
    const { etag } = (await bucket.iam.getPolicy())[0];
    const open = { role: "roles/storage.objectViewer", members: ["allUsers"] };
    expect(await codeOf(bucket.iam.setPolicy({ ...(etag === undefined ? {} : { etag }), bindings: [open] }))).toBe(412);
    expect((await bucket.iam.getPolicy())[0].bindings).toEqual([binding]);
  });
});

describe("objects", () => {
  beforeEach(async () => {
    await storage.createBucket("objects");
  });

  test("are uploaded in one piece, as multipart and resumably, and keep their metadata", async () => {
    const big = "0123456789".repeat(60_000);
    const file = (name: string) => storage.bucket("objects").file(name);
    const metadata = { contentType: "text/plain", metadata: { key: "value" } };
    await file("multipart").save("one", { resumable: false, metadata });
    await file("resumable").save(big, { resumable: true, metadata });
    await file("chunks").save(big, { resumable: true, chunkSize: 256 * 1024, metadata });
    for (const [name, content] of [
      ["multipart", "one"],
      ["resumable", big],
      ["chunks", big],
    ] as const) {
      expect(await contentOf("objects", name)).toBe(content);
      expect((await file(name).getMetadata())[0]).toMatchObject({ ...metadata, size: String(content.length) });
    }
  });

  test("are uploaded with a generation condition", async () => {
    const put = (ifGenerationMatch: number) =>
      storage.bucket("objects").file("a").save("x", { resumable: false, preconditionOpts: { ifGenerationMatch } });
    expect(await codeOf(put(0))).toBe("ok");
    expect(await codeOf(put(0))).toBe(412);
    const { generation } = (await storage.bucket("objects").file("a").getMetadata())[0];
    expect(await codeOf(put(Number(generation)))).toBe("ok");
  });

  test("are listed by the bytes of their names, by prefix, from an offset, in pages", async () => {
    for (const name of ["b", "a/2", "\ue000", "a/1", "😀"]) await save("objects", name, name);
    const query = { maxResults: 2, autoPaginate: false };
    const pages = await pagesOf((page: typeof query) => storage.bucket("objects").getFiles(page), query);
    expect(pages).toEqual([["a/1", "a/2"], ["b", "\ue000"], ["😀"]]);
    expect(await namesOf("objects", { prefix: "a/" })).toEqual(["a/1", "a/2"]);
    expect(await namesOf("objects", { startOffset: "a/2" })).toEqual(["a/2", "b", "\ue000", "😀"]);
  });

  test("are grouped by a delimiter after the prefix, and each group counts as one item", async () => {
    for (const name of ["a", "b/1", "b/2/3", "b/4", "c/1"]) await save("objects", name, name);
    const list = async (query: object) => {
      const found = await storage.bucket("objects").getFiles({ delimiter: "/", autoPaginate: false, ...query });
      const { prefixes, nextPageToken } = found[2] as { prefixes?: string[]; nextPageToken?: string };
      return { names: found[0].map(({ name }) => name), prefixes, more: nextPageToken !== undefined };
    };
    expect(await list({})).toEqual({ names: ["a"], prefixes: ["b/", "c/"], more: false });
    expect(await list({ maxResults: 2 })).toEqual({ names: ["a"], prefixes: ["b/"], more: true });
    expect(await list({ prefix: "b/" })).toEqual({ names: ["b/1", "b/4"], prefixes: ["b/2/"], more: false });
    // The offset selects objects, whose common prefix may sort before it.
    expect(await list({ startOffset: "b/4" })).toEqual({ names: [], prefixes: ["b/", "c/"], more: false });
    expect(await list({ fields: "items(name),nextPageToken" })).toMatchObject({ names: ["a"], prefixes: undefined });
  });

  test("that are deleted or replaced can be restored as new generations", async () => {
    await save("objects", "a", "first");
    await save("objects", "a", "second");
    await storage.bucket("objects").file("a").delete();
    const [versions] = await storage.bucket("objects").getFiles({ softDeleted: true });
    expect(versions.map((file) => file.name)).toEqual(["a", "a"]);
    const [first] = versions;
    const generation = Number(first?.metadata.generation);
    await storage.bucket("objects").file("a").restore({ generation });
    expect(await contentOf("objects", "a")).toBe("first");
    expect(Number((await storage.bucket("objects").file("a").getMetadata())[0].generation)).toBeGreaterThan(generation);
    expect(await codeOf(storage.bucket("objects").file("a").restore({ generation, ifGenerationMatch: 0 }))).toBe(412);
  });

  test("are read in ranges, up to their end", async () => {
    const file = storage.bucket("objects").file("a/b c.txt");
    await save("objects", "a/b c.txt", "grüß dich");
    const part = async (start: number, end?: number) =>
      (await file.download({ start, ...(end === undefined ? {} : { end }), validation: false }))[0].toString();
    expect(await part(7)).toBe("dich");
    expect(await part(0, 1)).toBe("gr");
    expect(await codeOf(part(100))).toBe(416);
    await save("objects", "empty", "");
    expect(await codeOf(storage.bucket("objects").file("empty").download({ start: 0, validation: false }))).toBe(416);
  });

  test("that do not exist, and missing buckets, return 404", async () => {
    expect(await codeOf(storage.bucket("objects").file("none").getMetadata())).toBe(404);
    expect(await codeOf(storage.bucket("objects").file("none").delete())).toBe(404);
    expect(await codeOf(storage.bucket("no-bucket").getFiles())).toBe(404);
    await expect(text(storage.bucket("objects").file("none").createReadStream())).rejects.toMatchObject({ code: 404 });
  });
});

describe("signed URLs", () => {
  const signed = async (action: "read" | "write", more = {}) =>
    (
      await storage
        .bucket("urls")
        .file("a b/ç")
        .getSignedUrl({ version: "v4", action, expires: Date.now() + 60_000, ...more })
    )[0];
  const put = (url: string, headers = {}) => fetch(url, { method: "PUT", body: "x", headers });

  beforeEach(async () => {
    await storage.createBucket("urls");
    await save("urls", "a b/ç", "content");
  });

  test("work for what was signed, until they expire", async () => {
    const url = await signed("read");
    expect(await (await fetch(url)).text()).toBe("content");
    expect((await put(url)).status).toBe(403);
    expect((await fetch(url.replace("a%20b", "a%20c"))).status).toBe(403);
    expect((await fetch(`${url}&response-content-type=text/html`)).status).toBe(403);
    await clock.advance(61_000);
    expect((await fetch(url)).status).toBe(400);
  });

  test("fail with another key or without a key", async () => {
    const url = await signed("read");
    expect((await fetch(url.replace(/X-Goog-Credential=[^%]*/, "X-Goog-Credential=other"))).status).toBe(400);
    expect((await fetch(url.replace(/X-Goog-Signature=.{4}/, "X-Goog-Signature=0000"))).status).toBe(403);
    expect((await fetch(url.replace(/\?.*/, ""))).status).toBe(403);
  });

  test("require the signed headers and reject other x-goog- headers", async () => {
    const extensionHeaders = { "x-goog-content-length-range": "0,3" };
    const url = await signed("write", { extensionHeaders });
    expect((await put(url)).status).toBe(403);
    expect((await put(url, extensionHeaders)).status).toBe(200);
    expect((await fetch(url, { method: "PUT", body: "long", headers: extensionHeaders })).status).toBe(400);
    const free = await signed("write");
    expect((await put(free, { "x-goog-if-generation-match": "0" })).status).toBe(403);
  });
});

describe("faults", () => {
  test("fail a call before its effect, or lose its response after it", async () => {
    for (const [kind, code] of [
      ["unavailable", 503],
      ["permission_denied", 403],
      ["resource_exhausted", 429],
    ] as const) {
      fake.faults.inject({ method: "storage.buckets.insert", nth: 1, kind });
      expect(await codeOf(storage.createBucket("faulty"))).toBe(code);
      expect(fake.world.live.size).toBe(0);
    }
    fake.faults.inject({ nth: 1, kind: "reply_lost" });
    expect(await codeOf(storage.createBucket("faulty"))).toBe("ECONNRESET");
    expect([...fake.world.live.keys()]).toEqual(["faulty"]);
    expect(fake.faults.count("storage.buckets.insert")).toBe(4);
  });
});

describe("a bucket as a folder", () => {
  beforeEach(async () => {
    await storage.createBucket("mounted");
    await save("mounted", "before/it.txt", "put before");
  });

  test("shows uploaded objects as files, and written files as objects", async () => {
    const folder = fake.folderOf("mounted");
    const read = (path: string) => readFileSync(join(folder, path), "utf8");
    expect(read("before/it.txt")).toBe("put before");
    await save("mounted", "after.txt", "put after");
    expect(read("after.txt")).toBe("put after");
    mkdirSync(join(folder, "new"));
    writeFileSync(join(folder, "new/file"), "written");
    writeFileSync(join(folder, "after.txt"), "changed there");
    expect(await namesOf("mounted")).toEqual(["after.txt", "before/it.txt", "new/file"]);
    expect(await contentOf("mounted", "new/file")).toBe("written");
    expect(await contentOf("mounted", "after.txt")).toBe("changed there");
    rmSync(join(folder, "before/it.txt"));
    expect(await namesOf("mounted")).toEqual(["after.txt", "new/file"]);
    await storage.bucket("mounted").file("after.txt").delete();
    expect(() => read("after.txt")).toThrow("ENOENT");
  });

  test("keeps an object that cannot be a file", async () => {
    const folder = fake.folderOf("mounted");
    await save("mounted", "a", "file");
    await save("mounted", "a/b", "under a file");
    expect(await namesOf("mounted", { prefix: "a" })).toEqual(["a", "a/b"]);
    expect(readFileSync(join(folder, "a"), "utf8")).toBe("file");
  });

  test("is empty for a later bucket of the same name", async () => {
    expect(readdirSync(fake.folderOf("mounted"))).not.toEqual([]);
    await storage.bucket("mounted").file("before/it.txt").delete();
    await storage.bucket("mounted").delete();
    expect(() => fake.folderOf("mounted")).toThrow("does not exist");
    await days(0.001);
    await storage.createBucket("mounted");
    expect(readdirSync(fake.folderOf("mounted"))).toEqual([]);
  });
});

test("the first CORS rule that matches the origin and the method applies", async () => {
  const [bucket] = await storage.createBucket("pages");
  const ask = async (method: string, headers: string) => {
    const response = await fetch(`${fake.url}/pages/a`, {
      method: "OPTIONS",
      headers: {
        origin: "https://page.example",
        "access-control-request-method": method,
        "access-control-request-headers": headers,
      },
    });
    return response.headers.get("access-control-allow-origin");
  };
  expect(await ask("PUT", "content-type")).toBeNull();
  const rule = { method: ["PUT"], responseHeader: ["Content-Type"], maxAgeSeconds: 60 };
  await bucket.setMetadata({
    cors: [
      { ...rule, origin: ["https://page.example"] },
      { ...rule, origin: ["*"] },
    ],
  });
  expect(await ask("PUT", "content-type")).toBe("https://page.example");
  expect(await ask("PUT", "content-type, range")).toBeNull();
  expect(await ask("GET", "content-type")).toBeNull();
  const unsigned = await fetch(`${fake.url}/pages/a`, { method: "PUT", headers: { origin: "https://other.example" } });
  expect([unsigned.ok, unsigned.headers.get("access-control-allow-origin")]).toEqual([false, "*"]);
});
