/**
 * The thread that unpacks one source archive, with blocking writes. It asks for the archive's bytes piece by piece, so
 * that it never holds more than one, and ends when its owner terminates it.
 */
import { parentPort, workerData } from "node:worker_threads";
import { archiveLimits } from "../../../core/domain/accounts/limits.ts";
import { ArchiveWalk } from "../../shared/archives/archive-walk.ts";
import { TreeWriter } from "./tree-writer.ts";

/** To the thread: the next bytes, or null at the archive's end. */
export type UnpackPiece = Uint8Array<ArrayBuffer> | null;
/** From the thread: it wants the next bytes, or has finished, with what is wrong with the archive. */
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
