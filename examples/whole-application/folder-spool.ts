/** A SourceSpool over plain files: an archive is a file in a folder, walked while it is written. */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { type ArchiveEntry, admitEntry, archiveLimits, emptyArchive } from "portside";
import {
  type Issue,
  issue,
  type ReceivedSource,
  ResultAsync,
  type Source,
  type SourceSpool,
  unavailable,
} from "portside/ports";
import { Parser, type ReadEntry } from "tar";

/** What is wrong with the archive, thrown by the walk. */
class Refused extends Error {
  readonly issue: Issue;
  constructor(type: "too_large" | "archive_invalid", message: string) {
    super(message);
    this.issue = issue(["source_archive"], message, type);
  }
}

const kindOf = (type: ReadEntry["type"]): ArchiveEntry["type"] => {
  if (type === "File" || type === "OldFile" || type === "ContiguousFile") return "file";
  return type === "Directory" ? "folder" : "other";
};

/** Takes the bytes of a tar.gz one piece after the other, and throws `Refused` as soon as it knows. */
const createWalk = () => {
  let use = emptyArchive;
  let failure: Error | undefined;
  let unpacked = 0;
  let ended = false;
  const fail = (error: Error): void => {
    failure ??= error;
  };
  const broken = (error: Error): void =>
    fail(
      error instanceof Refused ? error : new Refused("archive_invalid", `The archive is no tar.gz: ${error.message}`),
    );

  const admit = (entry: ReadEntry): void => {
    const admitted = admitEntry(use, { path: entry.path, type: kindOf(entry.type), size: entry.size });
    if ("problem" in admitted) fail(new Refused("archive_invalid", admitted.problem));
    else use = admitted.use;
    entry.resume();
  };
  const gunzip = createGunzip();
  const parser = new Parser({ strict: true });
  parser.on("entry", admit);
  parser.on("ignoredEntry", admit);
  parser.on("error", broken);
  parser.on("end", () => {
    ended = true;
  });
  gunzip.on("error", broken);
  gunzip.on("data", (chunk: Buffer) => {
    if (failure !== undefined) return;
    unpacked += chunk.length;
    // Headers and padding are a kilobyte an entry or so, and cannot be endless either.
    if (unpacked > archiveLimits.unpackedBytes + archiveLimits.entries * 4096)
      return fail(new Refused("archive_invalid", "The archive unpacks to more than is taken."));
    try {
      parser.write(chunk);
    } catch (error) {
      broken(error as Error);
    }
  });
  const closed = new Promise<void>((resolve) => gunzip.once("close", resolve));
  const check = (): void => {
    if (failure !== undefined) throw failure;
  };

  return {
    feed: async (chunk: Uint8Array): Promise<void> => {
      check();
      await new Promise<void>((resolve) => {
        gunzip.once("close", resolve);
        gunzip.write(chunk, () => {
          gunzip.off("close", resolve);
          resolve();
        });
      });
      check();
    },
    finish: async (): Promise<void> => {
      gunzip.end();
      await closed;
      check();
      parser.end();
      check();
      if (!ended || use.entries === 0) throw new Refused("archive_invalid", "The archive is empty.");
    },
    stop: (): void => void gunzip.destroy(),
  };
};

export const createFolderSpool = (folder: string): SourceSpool => {
  const take = async (
    bytes: AsyncIterable<Uint8Array>,
    most: number,
    signal?: AbortSignal,
  ): Promise<ReceivedSource> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${randomUUID()}.tar.gz`);
    const file = await open(path, "wx", 0o600);
    const walk = createWalk();
    const hash = createHash("sha256");
    let size = 0;
    let kept = false;
    try {
      for await (const chunk of bytes) {
        signal?.throwIfAborted();
        size += chunk.length;
        if (size > most) throw new Refused("too_large", `The archive has more than ${most} bytes.`);
        hash.update(chunk);
        await file.writeFile(chunk);
        await walk.feed(chunk);
      }
      signal?.throwIfAborted();
      await walk.finish();
      kept = true;
    } catch (error) {
      if (error instanceof Refused) return { kind: "refused", issues: [error.issue] };
      throw error;
    } finally {
      walk.stop();
      await file.close();
      if (!kept) await rm(path, { force: true });
    }
    const source: Source = {
      digest: `sha256:${hash.digest("hex")}`,
      bytes: size,
      open: () => createReadStream(path),
      discard: () => rm(path, { force: true }),
    };
    return { kind: "kept", source };
  };
  return {
    receive: (bytes, { fileBytes = archiveLimits.fileBytes, signal } = {}) =>
      ResultAsync.fromPromise(take(bytes, fileBytes, signal), (cause) =>
        unavailable("The source could not be kept; try again.", 5, cause),
      ),
  };
};
