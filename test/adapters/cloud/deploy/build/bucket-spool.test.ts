/** Uploads a source to a bucket in pieces. Each piece is uploaded before more is read, so memory holds only one. */
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { CallState } from "../../../../../adapters/cloud/calls/provider-call.ts";
import {
  createBucketSpool,
  PIECE_BYTES,
  type SpoolBucket,
  spooledIn,
} from "../../../../../adapters/cloud/deploy/build/bucket-spool.ts";
import { randomIds } from "../../../../../adapters/shared/runtime/system.ts";
import { type Unavailable, unavailable } from "../../../../../core/errors.ts";
import { err, ok } from "../../../../../core/result.ts";
import { bytesOf, tarOf } from "../../../../support/archives/archives.ts";
import { recordingLogger } from "../../../../support/logs/silent-logger.ts";

const CHUNK = 64 * 1024;
const archiveOf = (bytes: number): Buffer =>
  gzipSync(tarOf([{ path: "data", content: randomBytes(bytes) }]), { level: 0 });

/** A bucket that records what it receives, and when. `put` takes a turn of the event loop. */
const notingBucket = (fails: readonly string[] = [], failure: CallState | Unavailable = unavailable("not now", 1)) => {
  const notes: string[] = [];
  let taken = 0;
  const act = async (what: string, bytes = 0) => {
    notes.push(what);
    await new Promise((resolve) => setImmediate(resolve));
    taken += bytes;
    return fails.includes(what) ? err(failure) : ok(undefined);
  };
  const place: SpoolBucket = {
    bucket: "b",
    upload: () => ({
      whole: (bytes) => act(`whole ${bytes.length}`, bytes.length),
      begin: async () => (await act("begin")).map(() => "an upload"),
      put: (upload, piece) => act(`put ${piece.length} to ${upload}`, piece.length),
      finish: (upload, last) => act(`finish ${upload} by ${last.length}`, last.length),
      abort: (upload) => act(`abort ${upload}`),
    }),
    read: async () => ok(new Uint8Array()),
    remove: () => act("remove"),
  };
  return { place, notes, taken: () => taken };
};

const spoolIn = (place: SpoolBucket, logger = recordingLogger().logger) =>
  createBucketSpool(place, { ids: randomIds, logger });

test("reads at most one piece and one chunk ahead of the upload", async () => {
  const { place, notes, taken } = notingBucket();
  const archive = archiveOf(3 * PIECE_BYTES);
  let [given, ahead] = [0, 0];
  async function* counted() {
    for await (const chunk of bytesOf(archive, CHUNK)) {
      ahead = Math.max(ahead, given - taken());
      given += chunk.length;
      yield chunk;
    }
  }
  const received = (await spoolIn(place).receive(counted()))._unsafeUnwrap();
  expect(received).toMatchObject({ kind: "accepted", source: { bytes: archive.length } });
  const full = `put ${PIECE_BYTES} to an upload`;
  const last = `finish an upload by ${archive.length - 3 * PIECE_BYTES}`;
  expect(notes).toEqual(["begin", full, full, full, last]);
  expect(ahead).toBeLessThanOrEqual(PIECE_BYTES + CHUNK);
});

test("uploads an archive of exactly one piece as the last piece", async () => {
  const archive = archiveOf(PIECE_BYTES - 4096);
  const exact = Buffer.concat([archive, gzipSync(Buffer.alloc(0))]);
  const { place, notes } = notingBucket();
  expect((await spoolIn(place).receive(bytesOf(exact)))._unsafeUnwrap().kind).toBe("accepted");
  expect(notes).toEqual([`whole ${exact.length}`]);
});

const PUT = `put ${PIECE_BYTES} to an upload`;

test("aborts a failed upload and stops reading", async () => {
  const { place, notes } = notingBucket([PUT]);
  const error = (await spoolIn(place).receive(bytesOf(archiveOf(3 * PIECE_BYTES))))._unsafeUnwrapErr();
  expect(error).toMatchObject({ kind: "unavailable", message: "The source could not be received. Send it again." });
  expect(notes).toEqual(["begin", PUT, "abort an upload", "remove"]);
});

test("does not abort an upload that could not begin", async () => {
  const { place, notes } = notingBucket(["begin"]);
  expect((await spoolIn(place).receive(bytesOf(archiveOf(3 * PIECE_BYTES)))).isErr()).toBe(true);
  expect(notes).toEqual(["begin", "remove"]);
});

const GONE: CallState = { kind: "state", code: "not_found", error: new Error("no such upload") };

/** Valid except for its missing end. */
const cutShort = archiveOf(2 * PIECE_BYTES).subarray(0, PIECE_BYTES + CHUNK);

test.for([
  { answer: "an outage", failure: unavailable("not now", 1), isReported: true },
  { answer: "a missing part", failure: GONE, isReported: false },
])("a refused source's upload is aborted; reported to the operator after $answer: $isReported", async (failed) => {
  const { logger, logged } = recordingLogger();
  const { place, notes } = notingBucket(["abort an upload"], failed.failure);
  expect((await spoolIn(place, logger).receive(bytesOf(cutShort)))._unsafeUnwrap().kind).toBe("rejected");
  expect(notes).toEqual(["begin", PUT, "abort an upload"]);
  expect(logged.join("\n").includes("could not delete a source or its parts")).toBe(failed.isReported);
});

test("a source names its own bucket only", async () => {
  const received = (await spoolIn(notingBucket().place).receive(bytesOf(archiveOf(1000))))._unsafeUnwrap();
  if (received.kind !== "accepted") throw new Error("it was refused");
  expect(spooledIn("b", received.source)).toMatch(/^spool\/.+\.tar\.gz$/);
  expect(spooledIn("another", received.source)).toBeUndefined();
});
