/**
 * Receives an archive for a source spool: enforces the size limit, computes the digest, checks the entries, and writes
 * the bytes to a sink.
 */
import { createHash } from "node:crypto";
import { type ArchiveLimits, archiveLimits } from "../../../core/domain/accounts/limits.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import { type Issue, issue } from "../../../core/domain/wire/issue.ts";
import type { ReceiveOptions } from "../../../core/ports/source-spool.ts";
import { ArchiveWalk } from "./archive-walk.ts";

/** Receives the bytes of an archive. */
export interface ArchiveSink {
  write(chunk: Uint8Array): Promise<void>;
}

/** The result of `receiveArchive`: the digest and size of a valid archive, or the issues of an invalid one. */
export type ReceivedArchive =
  | { readonly ok: true; readonly digest: string; readonly bytes: number }
  | { readonly ok: false; readonly issues: readonly Issue[] };

const refused = (message: string, type: "archive_invalid" | "too_large"): ReceivedArchive => ({
  ok: false,
  issues: [issue(["source_archive"], message, type)],
});

const tooLarge = (fileBytes: number): string =>
  `is over ${formatMemory(fileBytes)}; exclude files that the build can download${
    fileBytes > archiveLimits.fileBytes ? "" : ", or upload it to a volume and pass its path as source_object"
  }`;

/**
 * Reads `bytes` to the end, or until the archive must be rejected. Throws the exceptions of `bytes` and of the sink,
 * and throws if `signal` aborts.
 */
export const receiveArchive = async (
  bytes: AsyncIterable<Uint8Array>,
  sink: ArchiveSink,
  { fileBytes = archiveLimits.fileBytes, signal }: ReceiveOptions = {},
  bounds: ArchiveLimits = archiveLimits,
): Promise<ReceivedArchive> => {
  const hash = createHash("sha256");
  const walk = new ArchiveWalk(bounds);
  let total = 0;
  try {
    for await (const chunk of bytes) {
      signal?.throwIfAborted();
      total += chunk.length;
      if (total > fileBytes) return refused(tooLarge(fileBytes), "too_large");
      hash.update(chunk);
      await Promise.all([walk.write(chunk), sink.write(chunk)]);
      if (walk.problem !== undefined) break;
    }
    await walk.end();
    if (walk.problem !== undefined) return refused(`the archive ${walk.problem}`, "archive_invalid");
    return { ok: true, digest: `sha256:${hash.digest("hex")}`, bytes: total };
  } finally {
    walk.close();
  }
};
