/** Encodes and reads DER. The expected bytes are from X.690 and from `openssl asn1parse`. */
import fc from "fast-check";
import { expect, test } from "vitest";
import * as der from "../../../../adapters/shared/domains/der.ts";

const bytes = (max: number) => fc.uint8Array({ maxLength: max }).map((array) => Buffer.from(array));

test("reads what it encoded, for every length", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          bytes(300),
          fc.integer({ min: 0, max: 66_000 }).map((size) => Buffer.alloc(size, 7)),
        ),
        { maxLength: 3 },
      ),
      (contents) => {
        const encoded = contents.map((content) => der.octetString(content));
        const read = der.readAll(Buffer.concat(encoded));
        expect(read?.map(({ content }, index) => content.equals(contents[index] as Buffer))).toEqual(
          contents.map(() => true),
        );
        expect(read?.map(({ encoding }) => encoding.length)).toEqual(encoded.map(({ length }) => length));
      },
    ),
  );
});

test("reads no truncated value, and never throws", () => {
  fc.assert(
    fc.property(
      bytes(300),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      bytes(20),
      (content, part, noise) => {
        const encoded = der.octetString(content);
        const size = Math.floor(encoded.length * part);
        if (size > 0) expect(der.readAll(encoded.subarray(0, size))).toBeUndefined();
        expect(() => der.readAll(noise)).not.toThrow();
      },
    ),
  );
});

test("encodes unsigned numbers in the fewest bytes", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 1n << 130n }), fc.nat(3), (value, zeros) => {
      const hex = value.toString(16);
      const padded = "00".repeat(zeros) + hex.padStart(hex.length + (hex.length % 2), "0");
      const [{ content }] = der.readAll(der.integer(Buffer.from(padded, "hex"))) as [der.DerValue];
      expect(BigInt(`0x${content.toString("hex")}`)).toBe(value);
      expect(content[0]).toBeLessThan(0x80);
      expect(content.length === 1 || content[0] !== 0 || (content[1] as number) >= 0x80).toBe(true);
    }),
  );
});

test.each([
  ["2.5.29.17", "0603551d11"],
  ["1.2.840.10045.4.3.2", "06082a8648ce3d040302"],
  ["1.2.840.113549.1.1.11", "06092a864886f70d01010b"],
  ["1.3.6.1.5.5.7.1.31", "06082b0601050507011f"],
])("encodes the object identifier %s", (dotted, hex) => {
  expect(der.objectIdentifier(dotted).toString("hex")).toBe(hex);
});

test("selects the type of a time by its year", () => {
  expect(der.time(Date.UTC(2049, 11, 31, 23, 59, 59)).toString("latin1")).toBe("\x17\x0d491231235959Z");
  expect(der.time(Date.UTC(2050, 0, 1)).toString("latin1")).toBe("\x18\x0f20500101000000Z");
});
