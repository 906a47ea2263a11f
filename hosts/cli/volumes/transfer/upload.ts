/** Uploads an object to a volume. Streams the bytes, so that memory use does not depend on the size. */
import type { UploadGrant } from "../../../../core/domain/volumes/volume.ts";
import type { Client } from "../../../client/client.ts";
import { ApiError } from "../../../client/errors.ts";
import { CommandError } from "../../terminal/io.ts";
import { PartsUpload } from "./parts-upload.ts";
import { retry } from "./retry.ts";
import { expectStatus, withGrant } from "./storage.ts";
import { putToStorage } from "./storage-put.ts";
import type { UploadJournal } from "./upload-journal.ts";

/** A part of a source, in bytes. */
export interface Range {
  readonly offset: number;
  readonly length: number;
}

export interface Source {
  readonly name: string;
  /** In bytes; undefined if unknown. A source of unknown size can be read only once. */
  readonly size: number | undefined;
  /** Identifies the file and its version. Absent for a source that a later `put` cannot read again. */
  readonly version?: readonly string[];
  /** @param range only for sources of known size */
  open(range?: Range): AsyncIterable<Uint8Array | string>;
}

export interface SizedSource extends Source {
  readonly size: number;
}

/** An object to upload. */
export interface PlannedUpload {
  readonly path: string;
  readonly source: Source;
}

export interface ObjectAddress {
  readonly volume: string;
  readonly path: string;
}

const encoder = new TextEncoder();

/** Reports sent bytes to the progress bar; negative if they must be sent again. */
export type OnSent = (bytes: number) => void;

/** Sends a source with one PUT. Resolves to the number of bytes and the entity tag. */
export const sendWhole = async (url: string, source: Source, signal: AbortSignal, onSent: OnSent) => {
  const { name, size } = source;
  let sent = 0;
  // Stored separately, because the request would report a read error as a broken connection.
  let problem: CommandError | undefined;
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of source.open()) {
        const bytes = typeof piece === "string" ? encoder.encode(piece) : piece;
        yield bytes;
        sent += bytes.length;
        onSent(bytes.length);
      }
      // Without an error, the request would wait for the remaining bytes.
      if (size !== undefined && sent < size) throw new Error("it became shorter during the upload");
    } catch (error) {
      problem = new CommandError(`Cannot read '${name}': ${(error as Error).message}. The volume is unchanged.`);
      throw error;
    }
  }
  const headers: Record<string, string> = size === undefined ? {} : { "content-length": String(size) };
  try {
    const response = await putToStorage(url, { headers, body: body(), signal });
    await expectStatus(response, 200, 201, 204);
    return { sent, tag: response.headers.get("etag") ?? "" };
  } catch (error) {
    onSent(-sent);
    throw signal.aborted ? error : (problem ?? error);
  }
};

const requestGrant = (
  client: Client,
  { volume, path }: ObjectAddress,
  { size }: Source,
  resumable: boolean,
  signal: AbortSignal,
): Promise<UploadGrant> =>
  client.grantUpload({ volume, object: path, size, ...(resumable && { resumable }) }, { signal });

/** Returns the remembered upload with new URLs; undefined if it does not exist. */
const resume = async (client: Client, journal: UploadJournal, signal: AbortSignal) => {
  const upload_id = await journal.read();
  if (upload_id === undefined) return undefined;
  try {
    return await client.resumeUpload({ upload_id }, { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    await journal.clear();
    return undefined;
  }
};

/** Grants the upload of a source, or resumes an earlier one. Remembers a new resumable upload. */
const grantOf = async (
  client: Client,
  address: ObjectAddress,
  source: Source,
  journal: UploadJournal | undefined,
  signal: AbortSignal,
): Promise<UploadGrant> => {
  if (journal === undefined) return requestGrant(client, address, source, false, signal);
  const resumed = await resume(client, journal, signal);
  if (resumed !== undefined) return resumed;
  const grant = await requestGrant(client, address, source, true, signal);
  if ("upload_id" in grant) await journal.write(grant.upload_id);
  return grant;
};

/**
 * Uploads the whole source or nothing. Resolves to its size in bytes. After a temporary error, retries from the start
 * of the source or from the first missing part. Does not retry a source of unknown size, because it can be read only
 * once.
 *
 * @param journal makes the upload resumable
 */
export const uploadObject = async (
  client: Client,
  address: ObjectAddress,
  source: Source,
  signal: AbortSignal,
  onSent: OnSent,
  journal?: UploadJournal,
): Promise<number> => {
  let begun: PartsUpload | undefined;
  const discard = () => {
    begun?.discard();
    begun = undefined;
  };
  const use = async (upload: PartsUpload | string) => {
    if (typeof upload === "string") return (await sendWhole(upload, source, signal, onSent)).sent;
    try {
      return await upload.send(signal);
    } catch (error) {
      if (upload.isLost) discard();
      throw error;
    }
  };
  const granted = async (): Promise<PartsUpload | string> => {
    if (begun !== undefined) return begun;
    const grant = await grantOf(client, address, source, journal, signal);
    if ("url" in grant) return grant.url;
    begun = new PartsUpload(client, address, { ...source, size: source.size ?? 0 }, grant, onSent);
    return begun;
  };
  try {
    const size = await (source.size === undefined
      ? granted().then(use)
      : retry(
          signal,
          () => withGrant(granted, use),
          () => begun?.done ?? 0,
        ));
    await journal?.clear();
    return size;
  } catch (error) {
    discard();
    throw error;
  }
};
