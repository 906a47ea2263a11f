import fc from "fast-check";
import { expect, test } from "vitest";
import { GiB, MiB } from "../../../../core/domain/accounts/limits.ts";
import { parseObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { formatUploadId, parseUploadId, type ResumableUpload } from "../../../../core/domain/volumes/upload-id.ts";
import { type PartBounds, partsOf, storedTag } from "../../../../core/domain/volumes/upload-parts.ts";
import { instantOfMillis } from "../../../../core/domain/wire/instant.ts";

const bounds = fc
  .record({ min: fc.integer({ min: 1, max: 64 }), more: fc.nat(5000), maxParts: fc.integer({ min: 2, max: 10_000 }) })
  .map(({ min, more, maxParts }): PartBounds => ({ minBytes: min * MiB, maxBytes: (min + more) * MiB, maxParts }));

test("parts are consecutive, cover the object, and obey the bounds", () => {
  const sized = bounds.chain((one) =>
    fc.tuple(fc.constant(one), fc.integer({ min: 1, max: Math.min(one.maxBytes * one.maxParts, 50_000 * GiB) })),
  );
  fc.assert(
    fc.property(sized, ([{ minBytes, maxBytes, maxParts }, size]) => {
      const parts = partsOf(size, { minBytes, maxBytes, maxParts });
      expect(parts.reduce((end, { offset, length }) => (offset === end ? end + length : Number.NaN), 0)).toBe(size);
      expect(parts.map(({ number }) => number)).toEqual(parts.map((_, index) => index + 1));
      expect(parts.length).toBeLessThanOrEqual(maxParts);
      expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(maxBytes);
      for (const { length } of parts.slice(0, -1)) expect(length).toBeGreaterThanOrEqual(minBytes);
    }),
  );
});

const s3: PartBounds = { minBytes: 5 * MiB, maxBytes: 5 * GiB, maxParts: 10_000 };

test.each([
  [1, 1],
  [16 * MiB, 1],
  [16 * MiB + 1, 2],
  [1600 * MiB, 100],
  [500 * GiB, 100],
  [50_000 * GiB, 10_000],
])("an object of %i bytes has %i parts on S3", (size, count) => {
  expect(partsOf(size, s3)).toHaveLength(count);
});

test("a part is stored only with its full length", () => {
  const range = { number: 2, offset: 10, length: 5 };
  expect(storedTag(range, [{ number: 2, size: 5, etag: '"a"' }])).toBe('"a"');
  expect(storedTag(range, [{ number: 2, size: 4, etag: '"a"' }])).toBeUndefined();
  expect(storedTag(range, [{ number: 1, size: 5, etag: '"a"' }])).toBeUndefined();
});

const path = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
  .filter((one) => parseObjectPath(one) !== undefined);

test("an id of an upload contains the upload, and needs no escaping in a URL", () => {
  const upload = fc.record({
    volume: fc.constantFrom("data", "a-1"),
    bucket: fc.string({ minLength: 1 }),
    path,
    size: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    startedAt: fc.nat(2 ** 31).map(instantOfMillis),
    id: fc.string({ minLength: 1 }),
  }) as fc.Arbitrary<ResumableUpload>;
  fc.assert(
    fc.property(upload, (one) => {
      const id = formatUploadId(one);
      expect(id).toMatch(/^[\w-]+$/);
      expect(parseUploadId(id)).toEqual(one);
    }),
  );
});

test("any other text is not an id", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(parseUploadId(text)).toBeUndefined();
    }),
  );
});
