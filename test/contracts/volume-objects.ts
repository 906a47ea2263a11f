/** The contract suite of `VolumeStore` for objects: signed uploads and downloads, ordered listings, removal. */
import { createHash, randomBytes } from "node:crypto";
import { expect } from "vitest";
import { comparePaths, FOLDER_DELIMITER, type ObjectPath } from "../../core/domain/volumes/object-path.ts";
import { instantOfMillis, millisOf, parseInstant } from "../../core/domain/wire/instant.ts";
import type { StoredVolume } from "../../core/ports/volume-store.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { collect, expectError, expectOk } from "./support.ts";
import {
  downloadUrl,
  everyFolder,
  everyObject,
  get,
  newVolume,
  now,
  put,
  soon,
  textOf,
  uploadUrl,
  volumesOf,
} from "./volume-steps.ts";

type Case = ContractCase<ProviderSubject>;

const inGroup = (group: string, cases: readonly Omit<Case, "group">[]): Case[] =>
  cases.map((one) => ({ group, when: ({ volumes }) => volumes.store.supported, ...one }));

/** Valid names that a careless adapter misinterprets. */
const nastyPaths = [
  "plain",
  "with space",
  " leading and trailing ",
  "percent%2Fslash",
  "%2e%2e",
  "100%",
  "a+b",
  "?query=1&x#fragment",
  ".hidden",
  "...",
  "..b/c",
  "~home",
  "-rf",
  "ünïcödé/naïve.txt",
  "数据/文件",
  "😀",
  "\ue000 behind the emoji by UTF-16, before it by UTF-8",
  "deep/er/and/deeper/file",
  "constructor",
  "__proto__",
  `${"x".repeat(255)}/${"y".repeat(255)}/${"z".repeat(255)}/${"w".repeat(255)}`,
  `1024/${"é".repeat(127)}/${"é".repeat(127)}/${"é".repeat(127)}/${"é".repeat(126)}x`,
];

const writing = inGroup("put and get", [
  {
    name: "an object has the uploaded bytes and size, and is listed immediately",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const bytes = randomBytes(300_000);
      const before = Date.now();
      await put(subject, volume, "folder/object.bin", bytes);
      const stat = await expectOk(volumesOf(subject).stat(volume, "folder/object.bin" as ObjectPath));
      expect(stat).toMatchObject({ path: "folder/object.bin", size: 300_000 });
      expect(millisOf(parseInstant(stat.updated) ?? instantOfMillis(0))).toBeGreaterThan(before - 60_000);
      expect(await everyObject(subject, volume, 10)).toEqual([stat]);
      const got = Buffer.from(await (await get(subject, volume, "folder/object.bin")).arrayBuffer());
      expect(createHash("sha256").update(got).digest("hex")).toBe(createHash("sha256").update(bytes).digest("hex"));
      const read = Buffer.concat(await collect(await expectOk(volumesOf(subject).read(volume, stat.path))));
      expect(read.equals(bytes)).toBe(true);
    },
  },
  {
    name: "an upload may start before its length is known",
    when: ({ volumes }) => volumes.store.supported && volumes.unsized_uploads.supported,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const pieces = ["one ", "two ", "three"].map((piece) => new TextEncoder().encode(piece));
      const init = { method: "PUT", body: ReadableStream.from(pieces), duplex: "half" } as RequestInit;
      const sent = await fetch(await uploadUrl(subject, volume, "unsized"), init);
      expect([200, 201]).toContain(sent.status);
      expect(await textOf(subject, volume, "unsized")).toBe("one two three");
    },
  },
  {
    name: "an object may be empty",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      await put(subject, volume, "empty", "");
      expect(await textOf(subject, volume, "empty")).toBe("");
      expect((await everyObject(subject, volume, 10)).map(({ size }) => size)).toEqual([0]);
      expect(await collect(await expectOk(volumesOf(subject).read(volume, "empty" as ObjectPath)))).toEqual([]);
    },
  },
  {
    name: "a second upload replaces the whole object",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      await put(subject, volume, "a", "a long first content");
      await put(subject, volume, "a", "short");
      expect(await textOf(subject, volume, "a")).toBe("short");
      expect(await everyObject(subject, volume, 10)).toHaveLength(1);
    },
  },
  {
    name: "every valid name is a distinct object",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      for (const path of nastyPaths) await put(subject, volume, path, path);
      const listed = await everyObject(subject, volume, 3);
      expect(listed.map(({ path }) => path)).toEqual([...nastyPaths].sort(comparePaths));
      for (const path of nastyPaths) expect(await textOf(subject, volume, path)).toBe(path);
    },
  },
  {
    name: "names that differ only in case or in normal form are different objects",
    when: ({ volumes }) => volumes.store.supported && volumes.case_preserving,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const names = ["Readme", "README", "caf\u00e9", "cafe\u0301"];
      for (const path of names) await put(subject, volume, path, path);
      for (const path of names) expect(await textOf(subject, volume, path)).toBe(path);
    },
  },
  {
    name: "a name may be an object and the prefix of others",
    when: ({ volumes }) => volumes.store.supported && volumes.flat_namespace,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      for (const path of ["a/b", "a"]) await put(subject, volume, path, path);
      expect((await everyObject(subject, volume, 10)).map(({ path }) => path)).toEqual(["a", "a/b"]);
    },
  },
  {
    name: "a file is not a folder: the upload fails, names the conflicting object, and keeps it",
    when: ({ volumes }) => volumes.store.supported && !volumes.flat_namespace,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      await put(subject, volume, "a/b", "inside");
      await put(subject, volume, "file", "file");
      for (const [path, other] of [
        ["a", "a/b"],
        ["file/x/y", "file"],
      ] as const) {
        const refused = await fetch(await uploadUrl(subject, volume, path), { method: "PUT", body: "x" });
        expect(refused.status).toBe(409);
        expect(((await refused.json()) as { detail: string }).detail).toContain(`'${other}'`);
      }
      expect((await everyObject(subject, volume, 10)).map(({ path }) => path)).toEqual(["a/b", "file"]);
      // An empty folder conflicts with nothing.
      await expectOk(volumesOf(subject).remove(volume, "a/b" as ObjectPath));
      await put(subject, volume, "a", "now a file");
      expect(await textOf(subject, volume, "a")).toBe("now a file");
    },
  },
]);

const reading = inGroup("ranges and conditions", [
  {
    name: "a range returns that part, and a range beyond the end is rejected",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      await put(subject, volume, "a", "0123456789");
      const part = async (range: string) => {
        const response = await get(subject, volume, "a", { range });
        return [response.status, response.headers.get("content-range"), await response.text()];
      };
      expect(await part("bytes=2-4")).toEqual([206, "bytes 2-4/10", "234"]);
      expect(await part("bytes=7-")).toEqual([206, "bytes 7-9/10", "789"]);
      expect(await part("bytes=-3")).toEqual([206, "bytes 7-9/10", "789"]);
      expect((await get(subject, volume, "a", { range: "bytes=10-" })).status).toBe(416);
    },
  },
  {
    name: "an ETag distinguishes contents",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const { response } = await put(subject, volume, "a", "first");
      const first = response.headers.get("etag") ?? "";
      expect(first).toMatch(/^".+"$/);
      const seen = await get(subject, volume, "a");
      expect(seen.headers.get("etag")).toBe(first);
      expect((await get(subject, volume, "a", { "if-none-match": first })).status).toBe(304);
      const { response: changed } = await put(subject, volume, "a", "second");
      expect(changed.headers.get("etag")).not.toBe(first);
      const again = await get(subject, volume, "a", { "if-none-match": first });
      expect([again.status, await again.text()]).toEqual([200, "second"]);
    },
  },
  {
    name: "an upload succeeds only if its conditions hold",
    when: ({ volumes }) => volumes.store.supported && volumes.conditional_uploads.supported,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const { url, response } = await put(subject, volume, "a", "first");
      const first = response.headers.get("etag") ?? "";
      const change = (headers: Record<string, string>) => fetch(url, { method: "PUT", body: "second", headers });
      expect((await change({ "if-none-match": "*" })).status).toBe(412);
      expect((await change({ "if-match": '"other"' })).status).toBe(412);
      expect(await textOf(subject, volume, "a")).toBe("first");
      const changed = await change({ "if-match": first });
      expect(changed.ok).toBe(true);
      expect(changed.headers.get("etag")).not.toBe(first);
      expect(await textOf(subject, volume, "a")).toBe("second");
    },
  },
  {
    name: "HEAD returns GET's headers without a body",
    when: ({ volumes }) => volumes.store.supported && volumes.head_downloads.supported,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      await put(subject, volume, "a.json", "{}");
      const head = await fetch(await downloadUrl(subject, volume, "a.json"), { method: "HEAD" });
      expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "2", ""]);
      expect(head.headers.get("content-type")).toMatch(/^application\/json/);
    },
  },
]);

const listing = inGroup("listing", [
  {
    name: "pages of any size return every object once, in order",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const paths = Array.from({ length: 23 }, (_, index) => `${"abc"[index % 3]}/${index}`);
      paths.push("a-before the folder", "a.txt", "a0 behind it", "z");
      await Promise.all(paths.map((path) => put(subject, volume, path, "")));
      for (const limit of [1, 2, 7, 27, 28, 1000])
        expect((await everyObject(subject, volume, limit)).map(({ path }) => path)).toEqual(
          [...paths].sort(comparePaths),
        );
    },
  },
  {
    name: "999, 1000 and 1001 objects are one page, one page and two",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const paths = Array.from({ length: 1001 }, (_, index) => `${index % 10}/${index}`);
      const page = () => expectOk(volumesOf(subject).objects(volume, { prefix: "", limit: 1000 }));
      const fill = async (from: number, to: number) => {
        for (let at = from; at < to; at += 50)
          await Promise.all(paths.slice(at, Math.min(to, at + 50)).map((path) => put(subject, volume, path, "")));
      };
      await fill(0, 999);
      expect(await page()).toMatchObject({ more: false, objects: { length: 999 } });
      await fill(999, 1000);
      expect(await page()).toMatchObject({ more: false, objects: { length: 1000 } });
      await fill(1000, 1001);
      expect(await page()).toMatchObject({ more: true, objects: { length: 1000 } });
      expect(await everyObject(subject, volume, 1000)).toHaveLength(1001);
    },
  },
  {
    name: "a prefix matches the beginning of a path, not a folder",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      for (const path of ["re", "report/1", "report/2", "reports/3", "r/e", "other"])
        await put(subject, volume, path, "");
      const found = async (prefix: string) => (await everyObject(subject, volume, 2, prefix)).map(({ path }) => path);
      expect(await found("re")).toEqual(["re", "report/1", "report/2", "reports/3"]);
      expect(await found("report/")).toEqual(["report/1", "report/2"]);
      expect(await found("report/2")).toEqual(["report/2"]);
      expect(await found("none")).toEqual([]);
      expect(await found("re/")).toEqual([]);
    },
  },
]);

const folders = inGroup("folders", [
  {
    name: "with a delimiter, a page has the objects at the prefix and the folders directly below it",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      for (const path of ["a", "b/1", "b/2/3", "b/2/4", "c", "dir/x/y"]) await put(subject, volume, path, "");
      const found = (prefix: string) => everyFolder(subject, volume, 1000, prefix);
      expect(await found("")).toEqual(["a", "b/", "c", "dir/"]);
      expect(await found("b/")).toEqual(["b/1", "b/2/"]);
      expect(await found("b/2/")).toEqual(["b/2/3", "b/2/4"]);
      // A prefix may end within a name.
      expect(await found("d")).toEqual(["dir/"]);
      expect(await found("dir/x")).toEqual(["dir/x/"]);
      expect(await found("b")).toEqual(["b/"]);
      for (const prefix of ["none", "b/3", "a/", "dir/y/"]) expect(await found(prefix)).toEqual([]);
    },
  },
  {
    name: "pages of any size return every object and folder once, in order",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const paths = [
        "b-before",
        "b.txt",
        "b/1",
        "b/2",
        "b/3/4",
        "b0",
        "c/1/1",
        "c/1/2",
        "c/2",
        "z",
        "\ue000/x",
        "😀/x",
      ];
      await Promise.all(paths.map((path) => put(subject, volume, path, "")));
      const expected = ["b-before", "b.txt", "b/", "b0", "c/", "z", "\ue000/", "😀/"];
      for (const limit of [1, 2, 3, 7, 8, 9, 1000]) {
        expect(await everyFolder(subject, volume, limit)).toEqual(expected);
        expect(await everyFolder(subject, volume, limit, "c/")).toEqual(["c/1/", "c/2"]);
      }
    },
  },
  {
    name: "a page after a path omits the folder of that path",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      for (const path of ["a/1", "a/2", "b/1"]) await put(subject, volume, path, "");
      const query = { prefix: "", limit: 10, delimiter: FOLDER_DELIMITER } as const;
      for (const after of ["a/", "a/1", "a/9"]) {
        const page = await expectOk(volumesOf(subject).objects(volume, { ...query, after }));
        expect(page).toEqual({ objects: [], folders: ["b/"], more: false });
      }
    },
  },
  {
    name: "without a delimiter, a page has no folders",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      await put(subject, volume, "a/1", "");
      const page = await expectOk(volumesOf(subject).objects(volume, { prefix: "", limit: 10 }));
      expect(page).toMatchObject({ objects: [{ path: "a/1" }], folders: [], more: false });
    },
  },
]);

const removing = inGroup("remove", [
  {
    name: "a removed object does not exist; removing a missing one fails with not_found",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      await put(subject, volume, "folder/a", "a");
      await expectOk(volumesOf(subject).remove(volume, "folder/a" as ObjectPath));
      expect((await get(subject, volume, "folder/a")).status).toBe(404);
      expect(await everyObject(subject, volume, 10)).toEqual([]);
      for (const path of ["folder/a", "folder", "never", "never/at/all"] as ObjectPath[]) {
        expect((await expectError(volumesOf(subject).remove(volume, path))).kind).toBe("not_found");
        expect((await expectError(volumesOf(subject).stat(volume, path))).kind).toBe("not_found");
        expect((await expectError(volumesOf(subject).read(volume, path))).kind).toBe("not_found");
      }
    },
  },
]);

const granting = inGroup("grants", [
  {
    name: "a URL works only for its method, object and volume",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const other = await newVolume(subject, subject.account());
      for (const one of [volume, other]) for (const path of ["a", "b"]) await put(subject, one, path, "kept");
      const upload = await uploadUrl(subject, volume, "a");
      const download = await downloadUrl(subject, volume, "a");
      const refused = async (url: string, method: string) => {
        const response = await fetch(url, { method, ...(method === "PUT" ? { body: "changed" } : {}) });
        expect([400, 403, 404, 405]).toContain(response.status);
        expect(await response.text()).not.toContain("kept");
      };
      await refused(download, "PUT");
      await refused(upload, "GET");
      await refused(upload, "DELETE");
      await refused(download, "POST");
      for (const [url, method] of [
        [upload, "PUT"],
        [download, "GET"],
      ] as const) {
        await refused(url.replace(/\/a\?/, "/b?"), method);
        await refused(url.replace(volume.id, other.id), method);
        await refused(url.replace(/\?.*/, ""), method);
      }
      for (const one of [volume, other])
        for (const path of ["a", "b"]) expect(await textOf(subject, one, path)).toBe("kept");
    },
  },
  {
    name: "a URL expires at the reported time",
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      await put(subject, volume, "a", "a");
      const path = "a" as ObjectPath;
      const until = instantOfMillis(Date.now() + 30_000);
      const grant = await expectOk(volumesOf(subject).grantDownload(volume, path, until));
      expect(grant.expiresAt <= until).toBe(true);
      expect(grant.expiresAt > now()).toBe(true);
      const past = instantOfMillis(Date.now() - 1000);
      const over = await expectOk(volumesOf(subject).grantDownload(volume, path, past));
      expect([400, 403]).toContain((await fetch(over.url)).status);
      const late = await expectOk(volumesOf(subject).grantUpload(volume, path, past));
      expect([400, 403]).toContain((await fetch(late.url, { method: "PUT", body: "late" })).status);
      expect(await textOf(subject, volume, "a")).toBe("a");
    },
  },
]);

const ORIGIN = "https://page.example";

/** The names in a header's comma-separated list, in lower case. */
const listIn = ({ headers }: Response, name: string): string[] =>
  (headers.get(name) ?? "").split(",").map((one) => one.trim().toLowerCase());

/** Sends the preflight request of a browser. */
const preflight = (url: string, method: string, headers: readonly string[]): Promise<Response> =>
  fetch(url, {
    method: "OPTIONS",
    headers: {
      origin: ORIGIN,
      "access-control-request-method": method,
      "access-control-request-headers": headers.join(","),
    },
  });

const expectReadable = (response: Response): void => {
  expect(["*", ORIGIN]).toContain(response.headers.get("access-control-allow-origin"));
  expect(response.headers.get("access-control-allow-credentials")).toBeNull();
};

/** Returns the URLs of an upload in parts; an empty list if the provider does not support uploads in parts. */
const partUrls = async (subject: ProviderSubject, volume: StoredVolume): Promise<readonly string[]> => {
  const { uploadsInParts } = volumesOf(subject);
  if (uploadsInParts === undefined) return [];
  const path = "parts" as ObjectPath;
  const id = await expectOk(uploadsInParts.begin(volume, path));
  const parts = [{ number: 1, offset: 0, length: uploadsInParts.bounds.minBytes }];
  const { urls, completeUrl } = await expectOk(uploadsInParts.grant({ volume, path, id }, parts, soon()));
  return [...urls, completeUrl];
};

/** Returns whether a URL has this host source: https://www.w3.org/TR/CSP3/#match-url-to-source-expression */
const matchesSource = (url: string, source: string): boolean => {
  const [scheme = "", host = ""] = source.split("//");
  const { protocol, host: own } = new URL(url);
  return protocol === scheme && (host.startsWith("*.") ? own.endsWith(host.slice(1)) : own === host);
};

const onPages = inGroup("web pages", [
  {
    name: "a preflight allows a page of any origin to use a signed URL",
    when: ({ volumes }) => volumes.store.supported && volumes.cors.supported,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      for (const [url, method, headers] of [
        [await uploadUrl(subject, volume, "a"), "PUT", ["content-type"]],
        [await uploadUrl(subject, volume, "a"), "POST", ["content-type"]],
        [await downloadUrl(subject, volume, "a"), "GET", ["range"]],
      ] as const) {
        const response = await preflight(url, method, headers);
        expect(response.ok).toBe(true);
        expectReadable(response);
        expect(listIn(response, "access-control-allow-methods")).toContain(method.toLowerCase());
        expect(listIn(response, "access-control-allow-headers")).toEqual(expect.arrayContaining([...headers]));
        expect(Number(response.headers.get("access-control-max-age"))).toBeGreaterThan(0);
      }
    },
  },
  {
    name: "a page can read the ETag and Content-Range of responses, and error responses",
    when: ({ volumes }) => volumes.store.supported && volumes.cors.supported,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const { response: stored } = await put(subject, volume, "a", "0123456789", { origin: ORIGIN });
      const part = await get(subject, volume, "a", { origin: ORIGIN, range: "bytes=2-4" });
      expect(await part.text()).toBe("234");
      for (const response of [stored, part]) {
        expectReadable(response);
        const exposed = listIn(response, "access-control-expose-headers");
        expect(exposed).toEqual(expect.arrayContaining(["etag", "content-range"]));
      }
      const missing = await get(subject, volume, "missing", { origin: ORIGIN });
      expect(missing.status).toBe(404);
      expectReadable(missing);
      const refused = await fetch((await downloadUrl(subject, volume, "a")).replace(/\?.*/, ""), {
        headers: { origin: ORIGIN },
      });
      expect([400, 403]).toContain(refused.status);
      expectReadable(refused);
    },
  },
]);

const origins = inGroup("storage origins", [
  {
    name: "`grantOrigins` lists the origin of each signed URL",
    when: ({ volumes }) => volumes.store.supported && volumes.cors.supported,
    run: async (subject) => {
      const volume = await newVolume(subject, subject.account());
      const sources = (await volumesOf(subject).grantOrigins?.())?._unsafeUnwrap() ?? [];
      for (const source of sources) expect(source).toMatch(/^https?:\/\/(\*\.)?[^*/]+$/);
      const urls = [
        await uploadUrl(subject, volume, "a"),
        await downloadUrl(subject, volume, "a"),
        ...(await partUrls(subject, volume)),
      ];
      for (const url of urls) expect(sources.filter((source) => matchesSource(url, source))).toHaveLength(1);
    },
  },
]);

/** The contract suite of `VolumeStore` for objects. */
export const volumeObjectCases: readonly Case[] = [
  ...writing,
  ...reading,
  ...listing,
  ...folders,
  ...removing,
  ...granting,
  ...onPages,
  ...origins,
];
