/** The contract suite of `VolumeStore` for uploads in parts. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { ObjectPath } from "../../core/domain/volumes/object-path.ts";
import type { PartRange } from "../../core/domain/volumes/upload-parts.ts";
import { instantOfMillis, type Timestamp } from "../../core/domain/wire/instant.ts";
import type { PartsGrant, PendingUpload, UploadsInParts } from "../../core/ports/volume-store.ts";
import type { ContractCase, ProviderSubject, StoreSubject } from "./harness.ts";
import { expectError, expectOk } from "./support.ts";
import { get, newVolume, put, soon, textOf, volumesOf } from "./volume-steps.ts";

const inParts = (subject: StoreSubject): UploadsInParts => {
  const { uploadsInParts } = volumesOf(subject);
  if (uploadsInParts === undefined) throw new Error("A provider with resumable uploads needs `uploadsInParts`.");
  return uploadsInParts;
};

/** Returns consecutive parts of these lengths. */
export const rangesOf = (lengths: readonly number[]): PartRange[] =>
  lengths.map((length, index) => ({
    number: index + 1,
    offset: lengths.slice(0, index).reduce((sum, one) => sum + one, 0),
    length,
  }));

const begin = async (subject: StoreSubject, path = "a" as ObjectPath): Promise<PendingUpload> => {
  const volume = await newVolume(subject, subject.account());
  return { volume, path, id: await expectOk(inParts(subject).begin(volume, path)) };
};

/** Content in two parts. The second part is shorter than the minimum. */
const twoParts = (subject: StoreSubject) => {
  const { minBytes } = inParts(subject).bounds;
  const ranges = rangesOf([minBytes, 5]);
  const bytes = randomBytes(minBytes + 5);
  const part = (number: number) => {
    const { offset, length } = ranges[number - 1] as PartRange;
    return new Uint8Array(bytes.subarray(offset, offset + length));
  };
  return { ranges, bytes, part };
};

const grantOf = (subject: StoreSubject, upload: PendingUpload, ranges: readonly PartRange[]): Promise<PartsGrant> =>
  expectOk(inParts(subject).grant(upload, ranges, soon()));

export const putPart = async (url: string | undefined, body: Uint8Array<ArrayBuffer> | string): Promise<string> => {
  const response = await fetch(url ?? "", { method: "PUT", body });
  expect(response.status).toBe(200);
  return response.headers.get("etag") ?? "";
};

/** Completes an upload. A 200 response may contain an error, as in S3. */
export const completeUpload = async (url: string, tags: readonly (readonly [number, string])[]): Promise<boolean> => {
  const parts = tags.map(([number, tag]) => `<Part><PartNumber>${number}</PartNumber><ETag>${tag}</ETag></Part>`);
  const body = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
  const response = await fetch(url, { method: "POST", body });
  const text = await response.text();
  return response.status === 200 && !text.includes("<Error>");
};

const partLists = async (subject: StoreSubject, upload: PendingUpload) =>
  [...(await expectOk(inParts(subject).stored(upload)))].sort((a, b) => a.number - b.number);

const isGone = async (subject: StoreSubject, upload: PendingUpload): Promise<void> => {
  expect((await expectError(inParts(subject).stored(upload))).kind).toBe("not_found");
};

const bytesOf = async (subject: StoreSubject, { volume, path }: PendingUpload): Promise<Buffer> =>
  Buffer.from(await (await get(subject, volume, path)).arrayBuffer());

const cases: readonly Omit<ContractCase<ProviderSubject>, "group">[] = [
  {
    name: "parts in any order replace the object when the upload is complete, not earlier",
    run: async (subject) => {
      const upload = await begin(subject, "folder/a" as ObjectPath);
      await put(subject, upload.volume, upload.path, "before");
      const { ranges, bytes, part } = twoParts(subject);
      const { urls, completeUrl } = await grantOf(subject, upload, ranges);
      const second = await putPart(urls[1], part(2));
      const first = await putPart(urls[0], part(1));
      expect(await textOf(subject, upload.volume, upload.path)).toBe("before");
      expect(
        await completeUpload(completeUrl, [
          [1, first],
          [2, second],
        ]),
      ).toBe(true);
      expect((await bytesOf(subject, upload)).equals(bytes)).toBe(true);
      const stat = await expectOk(volumesOf(subject).stat(upload.volume, upload.path));
      expect(stat.size).toBe(bytes.length);
    },
  },
  {
    name: "an upload may have one part of any size",
    run: async (subject) => {
      const upload = await begin(subject);
      const { urls, completeUrl } = await grantOf(subject, upload, rangesOf([1]));
      expect(await completeUpload(completeUrl, [[1, await putPart(urls[0], "x")]])).toBe(true);
      expect(await textOf(subject, upload.volume, upload.path)).toBe("x");
    },
  },
  {
    name: "lists the stored parts; a part that was sent again counts once, with its last tag",
    run: async (subject) => {
      const upload = await begin(subject);
      expect(await partLists(subject, upload)).toEqual([]);
      const { ranges, part, bytes } = twoParts(subject);
      const { urls } = await grantOf(subject, upload, ranges);
      await putPart(urls[1], "other");
      const second = await putPart(urls[1], part(2));
      expect(await partLists(subject, upload)).toEqual([{ number: 2, size: 5, etag: second }]);
      const first = await putPart(urls[0], part(1));
      const listed = await partLists(subject, upload);
      expect(listed).toEqual([
        { number: 1, size: part(1).length, etag: first },
        { number: 2, size: 5, etag: second },
      ]);
      // The resumed upload has different URLs.
      const { completeUrl } = await grantOf(subject, upload, ranges);
      expect(
        await completeUpload(
          completeUrl,
          listed.map(({ number, etag }) => [number, etag]),
        ),
      ).toBe(true);
      expect((await bytesOf(subject, upload)).equals(bytes)).toBe(true);
    },
  },
  {
    name: "refuses a part of the wrong length",
    run: async (subject) => {
      const upload = await begin(subject);
      const { urls } = await grantOf(subject, upload, rangesOf([10]));
      for (const body of ["123456789", "12345678901", ""]) {
        const refused = await fetch(urls[0] ?? "", { method: "PUT", body });
        expect([400, 403, 411]).toContain(refused.status);
      }
      expect(await partLists(subject, upload)).toEqual([]);
    },
  },
  {
    name: "an upload without one of its parts cannot be completed, but can resume",
    run: async (subject) => {
      const upload = await begin(subject);
      await put(subject, upload.volume, upload.path, "before");
      const { ranges, part, bytes } = twoParts(subject);
      const { urls, completeUrl } = await grantOf(subject, upload, ranges);
      const first = await putPart(urls[0], part(1));
      for (const tag of [first, '"0123456789abcdef0123456789abcdef"'])
        expect(
          await completeUpload(completeUrl, [
            [1, first],
            [2, tag],
          ]),
        ).toBe(false);
      expect(await completeUpload(completeUrl, [])).toBe(false);
      expect(await textOf(subject, upload.volume, upload.path)).toBe("before");
      const second = await putPart(urls[1], part(2));
      expect(
        await completeUpload(completeUrl, [
          [1, first],
          [2, second],
        ]),
      ).toBe(true);
      expect((await bytesOf(subject, upload)).equals(bytes)).toBe(true);
    },
  },
  {
    name: "concurrent completions create the object once; afterwards the upload does not exist",
    run: async (subject) => {
      const upload = await begin(subject);
      const { urls, completeUrl } = await grantOf(subject, upload, rangesOf([4]));
      const tag = await putPart(urls[0], "once");
      const ends = await Promise.all([1, 2, 3, 4].map(() => completeUpload(completeUrl, [[1, tag]])));
      expect(ends.filter((done) => done)).toHaveLength(1);
      expect(await textOf(subject, upload.volume, upload.path)).toBe("once");
      await isGone(subject, upload);
      await put(subject, upload.volume, upload.path, "later");
      expect((await fetch(urls[0] ?? "", { method: "PUT", body: "more" })).status).toBe(404);
      await completeUpload(completeUrl, [[1, tag]]);
      expect(await textOf(subject, upload.volume, upload.path)).toBe("later");
    },
  },
  {
    name: "counts the incomplete uploads of a volume",
    run: async (subject) => {
      const upload = await begin(subject);
      const { volume } = upload;
      const pending = () => expectOk(inParts(subject).pending(volume));
      await begin(subject);
      expect(await pending()).toBe(1);
      await expectOk(inParts(subject).begin(volume, upload.path));
      await expectOk(inParts(subject).begin(volume, "folder/b" as ObjectPath));
      expect(await pending()).toBe(3);
      const { urls, completeUrl } = await grantOf(subject, upload, rangesOf([4]));
      expect(await completeUpload(completeUrl, [[1, await putPart(urls[0], "done")]])).toBe(true);
      expect(await pending()).toBe(2);
      const gone = { ...volume, id: `${volume.id.slice(0, -1)}${volume.id.endsWith("0") ? "1" : "0"}` };
      expect((await expectError(inParts(subject).pending(gone))).kind).toBe("not_found");
    },
  },
  {
    name: "uploads of one object are independent",
    run: async (subject) => {
      const upload = await begin(subject);
      const other = { ...upload, id: await expectOk(inParts(subject).begin(upload.volume, upload.path)) };
      const [first, second] = [
        await grantOf(subject, upload, rangesOf([5])),
        await grantOf(subject, other, rangesOf([6])),
      ];
      const tag = await putPart(first.urls[0], "first");
      expect(await partLists(subject, other)).toEqual([]);
      const otherTag = await putPart(second.urls[0], "second");
      expect(await completeUpload(second.completeUrl, [[1, otherTag]])).toBe(true);
      expect(await textOf(subject, upload.volume, upload.path)).toBe("second");
      expect(await completeUpload(first.completeUrl, [[1, tag]])).toBe(true);
      expect(await textOf(subject, upload.volume, upload.path)).toBe("first");
    },
  },
  {
    name: "an upload exists only under its own id, for its own object and volume",
    run: async (subject) => {
      const upload = await begin(subject);
      const { volume, id } = upload;
      await isGone(subject, { ...upload, path: "b" as ObjectPath });
      await isGone(subject, { ...upload, volume: await newVolume(subject, subject.account()) });
      for (const forged of [`${id}x`, id.slice(1), "../volumes", "x"]) await isGone(subject, { ...upload, id: forged });
      expect(await partLists(subject, { volume, path: upload.path, id })).toEqual([]);
    },
  },
  {
    name: "the URL of a part works only for this part, object and upload, until it expires",
    run: async (subject) => {
      const upload = await begin(subject);
      const other = await begin(subject, "b" as ObjectPath);
      const { urls, completeUrl } = await grantOf(subject, upload, rangesOf([4]));
      const tag = await putPart(urls[0], "mine");
      const refused = async (url: string, method: string) => {
        const response = await fetch(url, { method, ...(method === "GET" ? {} : { body: "evil" }) });
        expect([400, 403, 404, 405]).toContain(response.status);
      };
      const url = urls[0] ?? "";
      await refused(url, "GET");
      await refused(url, "POST");
      await refused(completeUrl, "PUT");
      await refused(url.replace(/([?&]part(?:Number)?)=1\b/, "$1=2"), "PUT");
      await refused(url.replace(upload.id, other.id), "PUT");
      await refused(url.replace(upload.volume.id, other.volume.id), "PUT");
      await refused(url.replace(/\/a\?/, "/b?"), "PUT");
      const past = await expectOk(inParts(subject).grant(upload, rangesOf([4]), instantOfMillis(Date.now() - 1000)));
      await refused(past.urls[0] ?? "", "PUT");
      await refused(past.completeUrl, "POST");
      expect(await partLists(subject, upload)).toEqual([{ number: 1, size: 4, etag: tag }]);
      expect((await get(subject, upload.volume, "a")).status).toBe(404);
    },
  },
  {
    name: "a volume in the trash accepts no upload",
    run: async (subject) => {
      const upload = await begin(subject);
      const { urls, completeUrl } = await grantOf(subject, upload, rangesOf([1, 1]));
      await putPart(urls[0], "x");
      await expectOk(volumesOf(subject).beginDelete(upload.volume));
      const deletedAt = new Date().toISOString().replace("Z", "+00:00") as Timestamp;
      await expectOk(volumesOf(subject).moveToTrash(upload.volume, deletedAt));
      expect((await expectError(inParts(subject).begin(upload.volume, upload.path))).kind).toBe("not_found");
      expect((await expectError(inParts(subject).pending(upload.volume))).kind).toBe("not_found");
      expect([403, 404]).toContain((await fetch(urls[1] ?? "", { method: "PUT", body: "y" })).status);
      expect(await completeUpload(completeUrl, [[1, '"x"']])).toBe(false);
    },
  },
];

/** The contract suite of `VolumeStore` for uploads in parts. */
export const volumeUploadCases: readonly ContractCase<ProviderSubject>[] = cases.map((one) => ({
  group: "uploads in parts",
  when: ({ volumes }) => volumes.store.supported && volumes.resumable_uploads.supported,
  ...one,
}));
