/** A SourceSpool on plain files: an archive is a file in a folder, validated while it is written. */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { receiveArchive } from "portside/memory";
import {
  type ReceivedSource,
  type ReceiveOptions,
  ResultAsync,
  type Source,
  type SourceSpool,
  unavailable,
} from "portside/ports";

export const createFolderSpool = (folder: string): SourceSpool => {
  const take = async (bytes: AsyncIterable<Uint8Array>, options?: ReceiveOptions): Promise<ReceivedSource> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${randomUUID()}.tar.gz`);
    const file = await open(path, "wx", 0o600);
    let kept = false;
    try {
      // Hashes and validates the archive, and stops at the first invalid entry.
      const received = await receiveArchive(bytes, { write: (chunk) => file.writeFile(chunk) }, options);
      if (!received.ok) return { kind: "rejected", issues: received.issues };
      kept = true;
      const source: Source = {
        digest: received.digest,
        bytes: received.bytes,
        open: () => createReadStream(path),
        discard: () => rm(path, { force: true }),
      };
      return { kind: "accepted", source };
    } finally {
      await file.close();
      if (!kept) await rm(path, { force: true });
    }
  };
  return {
    receive: (bytes, options) =>
      ResultAsync.fromPromise(take(bytes, options), (cause) =>
        unavailable("The source could not be stored. Try again.", 5, cause),
      ),
  };
};
