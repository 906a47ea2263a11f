/**
 * Downloads an object from a volume. After a broken connection, requests only the missing bytes, unless the object has
 * changed.
 */
import type { Client } from "../../../client/client.ts";
import type { ObjectAddress } from "../../../client/storage/parts-upload.ts";
import { retry } from "../../../client/storage/retry.ts";
import { bytesOf, expectStatus, fetchStorage, withGrant } from "../../../client/storage/storage.ts";

/** The destination of a download. */
export interface Sink {
  readonly at: number;
  /**
   * The ETag of the object that the bytes belong to. If it is undefined, a later download cannot reuse the bytes.
   */
  readonly etag: string | undefined;
  /** Discards all bytes and starts the object with this ETag. */
  begin(etag: string | undefined): Promise<void>;
  write(bytes: Uint8Array): Promise<void>;
}

export interface Listener {
  /** Called with the object's size and the number of bytes that the sink already has. */
  onBegin(total: number | undefined, offset: number): void;
  onBytes(bytes: number): void;
}

/** Returns the ETag if it can guard a range request. A weak ETag does not guarantee identical bytes. */
const strongTag = (response: Response): string | undefined => {
  const tag = response.headers.get("etag");
  return tag?.startsWith('"') === true ? tag : undefined;
};

const modifiedOf = (response: Response): Date | undefined => {
  const modified = new Date(response.headers.get("last-modified") ?? "");
  return Number.isNaN(modified.getTime()) ? undefined : modified;
};

const lengthOf = (response: Response): number | undefined => {
  const length = response.headers.get("content-length");
  return length === null ? undefined : Number(length);
};

// Parses Content-Range: `bytes 5-9/10`, or `bytes */10` for an unsatisfiable range.
const rangeOf = (response: Response): { start: number | undefined; total: number } | undefined => {
  const [, start, total] = /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
  return total === undefined
    ? undefined
    : { start: start === undefined ? undefined : Number(start), total: Number(total) };
};

/** Returns whether the response shows that the sink already has the whole object. */
const isWhole = (response: Response, sink: Sink): boolean =>
  response.status === 416 && rangeOf(response)?.total === sink.at && strongTag(response) === sink.etag;

/**
 * Returns false if the download must restart without a range: the response contains a different range or object, or the
 * range does not exist (416). Other responses, including errors, need no restart.
 */
const isUsable = (response: Response, sink: Sink): boolean =>
  response.status === 206
    ? rangeOf(response)?.start === sink.at && strongTag(response) === sink.etag
    : response.status !== 416;

const fetchInto = async (url: string, sink: Sink, signal: AbortSignal, on: Listener): Promise<Date | undefined> => {
  const rest = sink.at > 0 && sink.etag !== undefined ? { range: `bytes=${sink.at}-`, "if-range": sink.etag } : {};
  const response = await fetchStorage(url, { headers: { "accept-encoding": "identity", ...rest }, signal });
  if (isWhole(response, sink)) {
    on.onBegin(sink.at, sink.at);
    return modifiedOf(response);
  }
  if ("range" in rest && !isUsable(response, sink)) {
    await response.body?.cancel();
    await sink.begin(undefined);
    return fetchInto(url, sink, signal, on);
  }
  await expectStatus(response, 200, 206);
  if (response.status === 200) await sink.begin(strongTag(response));
  const length = lengthOf(response);
  on.onBegin(length === undefined ? undefined : sink.at + length, sink.at);
  for await (const bytes of bytesOf(response, signal)) {
    await sink.write(bytes);
    on.onBytes(bytes.length);
  }
  return modifiedOf(response);
};

/**
 * Downloads the object into the sink, starting at the sink's position. Resolves to the object's modification time, if
 * the storage reports one.
 */
export const downloadObject = (
  client: Client,
  { volume, path }: ObjectAddress,
  sink: Sink,
  signal: AbortSignal,
  on: Listener,
): Promise<Date | undefined> => {
  const ask = () => client.grantDownload({ volume, path }, { signal });
  return retry(
    signal,
    () => withGrant(ask, ({ url }) => fetchInto(url, sink, signal, on)),
    () => sink.at,
  );
};
