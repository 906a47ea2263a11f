/**
 * A source spool in a bucket, for servers whose file system is in memory. The spool uploads an archive in pieces while
 * it validates the archive, and creates the object only if the archive is valid. Builders copy the object within the
 * cloud.
 */
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { ReceivedSource, Source, SourceSpool } from "../../../../core/ports/source-spool.ts";
import type { Ids, Logger } from "../../../../core/ports/system.ts";
import { ok, type Result, ResultAsync } from "../../../../core/result.ts";
import { receiveArchive } from "../../../shared/archives/receive-archive.ts";
import { type CallState, isCallState } from "../../calls/provider-call.ts";

/**
 * Piece size in bytes. An upload buffers one piece. S3 requires at least 5 MiB, and Cloud Storage requires a multiple
 * of 256 KiB.
 */
export const PIECE_BYTES = 8 * MiB;

/**
 * The prefix of all objects of the spool. A lifecycle rule of the bucket deletes objects that a killed server left
 * behind.
 */
export const SPOOL_PREFIX = "spool/";

export type Called<T> = Promise<Result<T, CallState | Unavailable>>;

/**
 * The provider's calls that create an object, either from one piece or from consecutive pieces. The object must not be
 * visible before the last call.
 */
export interface PieceUpload {
  /** Creates an object from a single piece. Most sources need only one. */
  whole(bytes: Uint8Array): Called<void>;
  /** Begins an upload in pieces. Returns the provider's id of the upload. */
  begin(): Called<string>;
  /** Uploads a piece of `PIECE_BYTES`. More pieces must follow. */
  put(upload: string, piece: Uint8Array): Called<void>;
  /** Uploads the last piece and creates the object. */
  finish(upload: string, last: Uint8Array): Called<void>;
  /** Aborts an upload and deletes its pieces. Fails with a `CallState` if the upload does not exist. */
  abort(upload: string): Called<void>;
}

export interface SpoolBucket {
  readonly bucket: string;
  upload(name: string, signal: AbortSignal): PieceUpload;
  /** Reads `bytes` bytes of an object from the offset `from`. */
  read(name: string, from: number, bytes: number): Called<Uint8Array>;
  /** Deletes an object. Succeeds if it does not exist. */
  remove(name: string): Called<void>;
}

/** Thrown if a source cannot be written to the bucket or read from it. */
export class SourceUnavailable extends Error {
  readonly unavailable: Unavailable;

  constructor(error: CallState | Unavailable) {
    super("Could not write or read a source in the bucket.", {
      cause: isCallState(error) ? error.error : error.cause,
    });
    this.unavailable = isCallState(error)
      ? unavailable("The stored source was not found. Deploy again.", 5, error.error)
      : error;
  }
}

const need = <T>(result: Result<T, CallState | Unavailable>): T => {
  if (result.isErr()) throw new SourceUnavailable(result.error);
  return result.value;
};

interface BucketSource extends Source {
  readonly spooled: { readonly bucket: string; readonly name: string };
}

/** Returns the name of a source's object in this bucket, or undefined if the source is stored elsewhere. */
export const spooledIn = (bucket: string, source: Source): string | undefined => {
  const { spooled } = source as Partial<BucketSource>;
  return spooled?.bucket === bucket ? spooled.name : undefined;
};

/** Collects written bytes into pieces. Holds the last piece back until the archive is known to be valid. */
class Pieces {
  readonly #object: PieceUpload;
  readonly #piece: Buffer;
  #held = 0;
  #upload: string | undefined;

  constructor(object: PieceUpload, bytes: number) {
    this.#object = object;
    this.#piece = Buffer.allocUnsafe(bytes);
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      if (this.#held === this.#piece.length) {
        this.#upload ??= need(await this.#object.begin());
        need(await this.#object.put(this.#upload, this.#piece));
        this.#held = 0;
      }
      const taken = chunk.subarray(at, at + this.#piece.length - this.#held);
      this.#piece.set(taken, this.#held);
      this.#held += taken.length;
      at += taken.length;
    }
  }

  async finish(): Promise<void> {
    const last = this.#piece.subarray(0, this.#held);
    need(await (this.#upload === undefined ? this.#object.whole(last) : this.#object.finish(this.#upload, last)));
  }

  /** Aborts the upload. Does not delete an object that was already created. */
  async abort(): Called<void> {
    if (this.#upload === undefined) return ok(undefined);
    const gone = await this.#object.abort(this.#upload);
    return gone.isErr() && isCallState(gone.error) ? ok(undefined) : gone;
  }
}

/** @param pieceBytes size of uploaded and read pieces; tests use smaller ones */
export const createBucketSpool = (
  place: SpoolBucket,
  { ids, logger }: { readonly ids: Ids; readonly logger: Logger },
  pieceBytes = PIECE_BYTES,
): SourceSpool => {
  /** Awaits a deletion. Only logs a failure, because the bucket's lifecycle rule deletes the remaining data. */
  const cleanUp = async (name: string, deletion: Called<void>): Promise<void> => {
    const result = await deletion;
    if (result.isErr())
      logger.warn("could not delete a source or its parts from the bucket", { name, cause: result.error });
  };

  async function* contentOf(name: string, bytes: number): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < bytes; from += pieceBytes)
      yield need(await place.read(name, from, Math.min(pieceBytes, bytes - from)));
  }

  const sourceAt = (name: string, digest: string, bytes: number): BucketSource => {
    let discarded: Promise<void> | undefined;
    return {
      digest,
      bytes,
      spooled: { bucket: place.bucket, name },
      open: () => contentOf(name, bytes),
      discard: () => {
        discarded ??= cleanUp(name, place.remove(name));
        return discarded;
      },
    };
  };

  return {
    receive: (bytes, options = {}) => {
      const receive = async (): Promise<ReceivedSource> => {
        const name = `${SPOOL_PREFIX}${ids.id()}.tar.gz`;
        const object = place.upload(name, options.signal ?? new AbortController().signal);
        const pieces = new Pieces(object, pieceBytes);
        try {
          const received = await receiveArchive(bytes, pieces, options);
          if (received.ok) {
            await pieces.finish();
            return { kind: "accepted", source: sourceAt(name, received.digest, received.bytes) };
          }
          await cleanUp(name, pieces.abort());
          return { kind: "rejected", issues: received.issues };
        } catch (error) {
          // If the response to the last call was lost, the object may exist, so delete it as well as the pieces.
          await cleanUp(name, pieces.abort());
          await cleanUp(name, place.remove(name));
          throw error;
        }
      };
      return ResultAsync.fromPromise(receive(), (cause) =>
        unavailable("The source could not be received. Send it again.", 5, cause),
      );
    },
  };
};
