/**
 * Objects larger than memory through a signed URL, with flat memory: 256 MiB, and 5 GB in a run with
 * PORTSIDE_MATRIX=all.
 */
import { createHash } from "node:crypto";
import { request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { processMemory } from "../../../support/crashes/memory-use.ts";
import { Client, serve } from "../../../support/http/served.ts";
import { wholeMatrix } from "../../../support/vitest/sampled.ts";

const MiB = 1024 ** 2;
const PIECE = Buffer.alloc(MiB, "portside ");

/** Bytes that differ in each mebibyte, and their digest. */
const generated = (bytes: number): { readonly stream: Readable; digest(): string } => {
  const hash = createHash("sha256");
  async function* pieces() {
    for (let sent = 0; sent < bytes; sent += PIECE.length) {
      const piece = Buffer.from(PIECE.subarray(0, Math.min(PIECE.length, bytes - sent)));
      piece.writeDoubleLE(sent, 0);
      hash.update(piece);
      yield piece;
    }
  }
  return { stream: Readable.from(pieces(), { objectMode: false }), digest: () => hash.digest("hex") };
};

const send = async (url: string, bytes: number): Promise<{ status: number | undefined; digest: string }> => {
  const { stream, digest } = generated(bytes);
  const req = request(url, { method: "PUT", headers: { "content-length": bytes } });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    req.once("response", (res) => resolve(res.resume().statusCode));
    req.once("error", reject);
  });
  await pipeline(stream, req);
  return { status: await answered, digest: digest() };
};

const receive = async (url: string): Promise<string> => {
  const hash = createHash("sha256");
  const { body } = await fetch(url);
  await pipeline(Readable.fromWeb(body as never), hash);
  return hash.digest("hex");
};

const roundTrip = async (bytes: number): Promise<void> => {
  using folder = folderWith();
  const served = await serve(folder.path, {});
  try {
    const client = new Client(served.url, served.apiKey as string);
    await client.post("/v1/volume/create", { name: "data" });
    const object = { volume: "data", path: "large.bin" };
    // Measures the memory after each operation has run once.
    await send((await client.post<{ url: string }>("/v1/volume/upload", object)).url, 8 * MiB);
    await receive((await client.post<{ url: string }>("/v1/volume/download", object)).url);
    const before = processMemory(served.child.pid as number).peak;
    const sent = await send((await client.post<{ url: string }>("/v1/volume/upload", object)).url, bytes);
    expect(sent.status).toBe(200);
    const got = await receive((await client.post<{ url: string }>("/v1/volume/download", object)).url);
    expect(got).toBe(sent.digest);
    expect(processMemory(served.child.pid as number).peak - before).toBeLessThan(100 * MiB);
  } finally {
    served.child.kill("SIGKILL");
  }
};

test("256 MiB", { timeout: 120_000 }, () => roundTrip(256 * MiB));

// It takes a minute and 7 GB of disk.
if (wholeMatrix) test("5 GB", { timeout: 600_000 }, () => roundTrip(5e9));
