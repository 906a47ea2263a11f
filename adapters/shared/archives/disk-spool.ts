/** Stores received sources on disk, so that memory use does not depend on their size. */
import { createReadStream } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ReceivedSource, Source, SourceSpool } from "../../../core/ports/source-spool.ts";
import type { Ids } from "../../../core/ports/system.ts";
import { ResultAsync } from "../../../core/result.ts";
import { storeUnavailable } from "../runtime/disk-fault.ts";
import { receiveArchive } from "./receive-archive.ts";

const sourceAt = (path: string, digest: string, bytes: number): Source => ({
  digest,
  bytes,
  open: () => createReadStream(path),
  discard: () => rm(path, { force: true }),
});

/**
 * @param folder created if it is missing; only the spool may write in it
 * @param makesParents whether to create missing parent folders
 */
export const createDiskSpool = (folder: string, ids: Ids, makesParents = true): SourceSpool => ({
  receive: (bytes, options = {}) => {
    const path = join(folder, `${ids.id()}.tar.gz`);
    const receive = async (): Promise<ReceivedSource> => {
      await mkdir(folder, { recursive: makesParents, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
      const file = await open(path, "wx", 0o600);
      try {
        const write = async (chunk: Uint8Array) => void (await file.writeFile(chunk));
        const received = await receiveArchive(bytes, { write }, options);
        if (received.ok) return { kind: "accepted", source: sourceAt(path, received.digest, received.bytes) };
        await rm(path, { force: true });
        return { kind: "rejected", issues: received.issues };
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      } finally {
        await file.close();
      }
    };
    return ResultAsync.fromPromise(receive(), (cause) =>
      storeUnavailable("The source could not be received. Send it again.", cause),
    );
  },
});
