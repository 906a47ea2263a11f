/**
 * The worker thread that unpacks one source archive with blocking writes. It requests one chunk of the archive at a
 * time, to limit its memory use, and runs until its owner terminates it.
 */
import { parentPort, workerData } from "node:worker_threads";
import { archiveLimits } from "../../../core/domain/accounts/limits.ts";
import { ArchiveWalk } from "../../shared/archives/archive-walk.ts";
import { TreeWriter } from "./tree-writer.ts";

/** A message to the thread: the next chunk, or null at the archive's end. */
export type UnpackPiece = Uint8Array<ArrayBuffer> | null;
/**
 * A message from the thread: a request for the next chunk, or the result. `problem` is undefined if the archive is
 * valid.
 */
export type UnpackReport = { readonly kind: "next" } | { readonly kind: "done"; readonly problem: string | undefined };

const unpack = async (port: NonNullable<typeof parentPort>, folder: string): Promise<void> => {
  const walk = new ArchiveWalk(archiveLimits, new TreeWriter(folder));
  const report = (message: UnpackReport) => port.postMessage(message);
  const take = async (piece: UnpackPiece): Promise<void> => {
    if (piece === null) await walk.end();
    else await walk.write(piece);
    const isDone = piece === null || walk.problem !== undefined;
    report(isDone ? { kind: "done", problem: walk.problem } : { kind: "next" });
  };
  port.on("message", (piece: UnpackPiece) => void take(piece));
  report({ kind: "next" });
};

if (parentPort !== null) await unpack(parentPort, workerData as string);
