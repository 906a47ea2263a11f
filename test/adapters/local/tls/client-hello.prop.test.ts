/** Reading the first message of real clients, of clients that split it, and of hostile ones. */
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { MAX_HELLO_BYTES, readClientHello } from "../../../../adapters/local/tls/client-hello.ts";
import { helloOf } from "../../../support/tls/tls-clients.ts";

const hello = await helloOf({ servername: "app.example.com", ALPNProtocols: ["h2", "http/1.1"] });
const expected = { serverName: "app.example.com", protocols: ["h2", "http/1.1"] };

/** Splits the message into records of at most `size` bytes. */
const inRecords = (size: number): Buffer => {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(records);
};

test("reads the host name and the protocols", async () => {
  expect(readClientHello(hello)).toEqual(expected);
  expect(readClientHello(await helloOf({ servername: "" }))).toEqual({ serverName: undefined, protocols: [] });
});

test("is incomplete before its last byte, in records of any size", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 700 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (size, part) => {
      const bytes = inRecords(size);
      expect(readClientHello(bytes)).toEqual(expected);
      expect(readClientHello(bytes.subarray(0, Math.floor(bytes.length * part)))).toBe("incomplete");
    }),
  );
});

test("never throws, and never waits for more than the maximum size", () => {
  const changed = fc
    .tuple(fc.nat(hello.length - 1), fc.nat(255))
    .map(([at, byte]) => Buffer.from(hello.with(at, byte)));
  fc.assert(
    fc.property(
      fc.oneof(
        changed,
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      ),
      (bytes) => {
        const result = readClientHello(bytes);
        if (typeof result === "object") expect(Array.isArray(result.protocols)).toBe(true);
      },
    ),
  );
  const announced = Buffer.concat([Buffer.from([22, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0]), Buffer.alloc(MAX_HELLO_BYTES)]);
  expect(readClientHello(announced.subarray(0, MAX_HELLO_BYTES - 500))).toBe("incomplete");
  expect(readClientHello(Buffer.from([22, 3, 1, 0, 4, 1, 0, 0x40, 0]))).toBe("malformed");
});

test("copies no byte twice, however many records there are", () => {
  const bytes = inRecords(1);
  const concat = vi.spyOn(Buffer, "concat");
  const copy = vi.spyOn(Buffer.prototype, "copy");
  try {
    expect(readClientHello(bytes)).toEqual(expected);
    const joined = concat.mock.calls.flatMap(([parts]) => parts).length;
    expect(joined + copy.mock.calls.length).toBeLessThanOrEqual(hello.length);
  } finally {
    vi.restoreAllMocks();
  }
});

test.each([
  ["plain HTTP", Buffer.from("GET / HTTP/1.1\r\n")],
  ["another handshake message", Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
  ["an empty record", Buffer.from([22, 3, 1, 0, 0])],
])("rejects %s", (_name, bytes) => {
  expect(readClientHello(bytes)).toBe("malformed");
});
