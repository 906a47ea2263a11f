/**
 * Sources in a bucket, for servers whose own disk is memory. An archive goes there in pieces while it is walked, and
 * becomes an object only when it was found good; what builds it copies it within the cloud.
 */
import { MiB } from "../../../core/domain/accounts/limits.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { ReceivedSource, Source, SourceSpool } from "../../../core/ports/source-spool.ts";
import type { Ids, Logger } from "../../../core/ports/system.ts";
import { ok, type Result, ResultAsync } from "../../../core/result.ts";
import { type CallState, isCallState } from "../calls/provider-call.ts";
import { receiveArchive } from "./receive-archive.ts";

/** What an upload takes of the memory. S3 wants 5 MiB of a part, and Cloud Storage whole 256 KiB: both have them. */
export const PIECE_BYTES = 8 * MiB;

/** Everything of the spool is below it, for rules that clear away what a killed server has left. */
export const SPOOL_PREFIX = "spool/";

export type Called<T> = Promise<Result<T, CallState | Unavailable>>;

/** How a provider makes an object: whole, or of pieces, one after the other, and nobody sees it before the last. */
export interface PieceUpload {
  /** Makes the object of one piece, as most sources are. */
  whole(bytes: Uint8Array): Called<void>;
  /** The name, to the provider, of an upload in pieces. */
  begin(): Called<string>;
  /** Takes a piece of `PIECE_BYTES` behind which there are more. */
  put(upload: string, piece: Uint8Array): Called<void>;
  /** Takes the last one, and makes the object. */
  finish(upload: string, last: Uint8Array): Called<void>;
  /** Takes the pieces back. `CallState`: there is no such upload any more. */
  abort(upload: string): Called<void>;
}

export interface SpoolBucket {
  readonly bucket: string;
  upload(name: string, signal: AbortSignal): PieceUpload;
  /** So many bytes of an object, from a byte on. */
  read(name: string, from: number, bytes: number): Called<Uint8Array>;
  /** There need be nothing. */
  remove(name: string): Called<void>;
}

/** The bytes of a source could not be had. */
export class SourceUnavailable extends Error {
  readonly unavailable: Unavailable;

  constructor(error: CallState | Unavailable) {
    super("A source could not be brought into the bucket, or read from it.", {
      cause: isCallState(error) ? error.error : error.cause,
    });
    this.unavailable = isCallState(error)
      ? unavailable("The source is not where it was put; deploy again.", 5, error.error)
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

/** The object of that bucket that a source is; undefined where it lies elsewhere. */
export const spooledIn = (bucket: string, source: Source): string | undefined => {
  const { spooled } = source as Partial<BucketSource>;
  return spooled?.bucket === bucket ? spooled.name : undefined;
};

/** Gathers what is written into pieces; the last one waits for the verdict on the whole. */
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

  /** Takes back what was put; of an object that was made before, nothing. */
  async abort(): Called<void> {
    if (this.#upload === undefined) return ok(undefined);
    const gone = await this.#object.abort(this.#upload);
    return gone.isErr() && isCallState(gone.error) ? ok(undefined) : gone;
  }
}

/** @param pieceBytes of an upload and of a read; a test gives fewer */
export const createBucketSpool = (
  place: SpoolBucket,
  { ids, logger }: { readonly ids: Ids; readonly logger: Logger },
  pieceBytes = PIECE_BYTES,
): SourceSpool => {
  /** What stays is a nuisance for the operator, until a rule of the bucket takes it away. */
  const takenBack = async (name: string, back: Called<void>): Promise<void> => {
    const result = await back;
    if (result.isErr()) logger.warn("something of a source was left in the bucket", { name, cause: result.error });
  };

  /** Nobody knows whether an object was made of it where its last answer was lost. */
  const giveUp = async (name: string, pieces: Pieces): Promise<void> => {
    await takenBack(name, pieces.abort());
    await takenBack(name, place.remove(name));
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
        discarded ??= takenBack(name, place.remove(name));
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
            return { kind: "kept", source: sourceAt(name, received.digest, received.bytes) };
          }
          await takenBack(name, pieces.abort());
          return { kind: "refused", issues: received.issues };
        } catch (error) {
          await giveUp(name, pieces);
          throw error;
        }
      };
      return ResultAsync.fromPromise(receive(), (cause) =>
        unavailable("The source could not be received; send it again.", 5, cause),
      );
    },
  };
};
