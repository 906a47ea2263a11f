/** One object on its way out of a volume: a connection that breaks is taken up where it broke. */
import type { DownloadGrant } from "../../../../core/domain/volumes/volume.ts";
import type { Client } from "../../client.ts";
import { persist } from "./persist.ts";
import { bytesOf, expectStatus, getFromStorage, withGrant } from "./storage.ts";
import type { Place } from "./upload.ts";

/** Where the bytes go, and how many of them it has. */
export interface Sink {
  readonly at: number;
  /** Of the object that they are the beginning of; undefined where that cannot be told, so they are worth nothing. */
  readonly etag: string | undefined;
  /** Forgets what it has, for the first byte of the object with this tag. */
  begin(etag: string | undefined): Promise<void>;
  write(bytes: Uint8Array): Promise<void>;
}

export interface Listener {
  /** How large the object is, and how much of it is there already. */
  onBegin(total: number | undefined, there: number): void;
  onBytes(bytes: number): void;
}

export interface Fetched {
  /** When the object was last changed, where the storage says so. */
  readonly modified: Date | undefined;
}

/** An entity tag by which a part can be asked for: a weak one does not tell the same bytes from like ones. */
const strongTag = (response: Response): string | undefined => {
  const tag = response.headers.get("etag");
  return tag?.startsWith('"') === true ? tag : undefined;
};

const fetchedOf = (response: Response): Fetched => {
  const modified = new Date(response.headers.get("last-modified") ?? "");
  return { modified: Number.isNaN(modified.getTime()) ? undefined : modified };
};

const lengthOf = (response: Response): number | undefined => {
  const length = response.headers.get("content-length");
  return length === null ? undefined : Number(length);
};

/** Where a part stands in its object: `bytes 5-9/10`, and `bytes * /10` for one that is not in it. */
const rangeOf = (response: Response): { start: number | undefined; total: number } | undefined => {
  const [, start, total] = /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
  return total === undefined
    ? undefined
    : { start: start === undefined ? undefined : Number(start), total: Number(total) };
};

/** Whether the sink has all of the object already: the part behind what it has is none. */
const isWhole = (response: Response, sink: Sink): boolean =>
  response.status === 416 && rangeOf(response)?.total === sink.at && strongTag(response) === sink.etag;

/** Whether a part was asked for and can be used: it, or the whole of an object that has changed. */
const goesOn = (response: Response, sink: Sink): boolean =>
  response.status === 206
    ? rangeOf(response)?.start === sink.at && strongTag(response) === sink.etag
    : response.status !== 416;

const fetchInto = async (url: string, sink: Sink, signal: AbortSignal, on: Listener): Promise<Fetched> => {
  const rest = sink.at > 0 && sink.etag !== undefined ? { range: `bytes=${sink.at}-`, "if-range": sink.etag } : {};
  const response = await getFromStorage(url, { "accept-encoding": "identity", ...rest }, signal);
  if (isWhole(response, sink)) {
    on.onBegin(sink.at, sink.at);
    return fetchedOf(response);
  }
  if ("range" in rest && !goesOn(response, sink)) {
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
  return fetchedOf(response);
};

/** Brings the object into the sink, from where the sink stands. */
export const downloadObject = (
  client: Client,
  { volume, path }: Place,
  sink: Sink,
  signal: AbortSignal,
  on: Listener,
): Promise<Fetched> => {
  const ask = () => client.call<DownloadGrant>("/v1/volume/download", { json: { volume, path }, signal });
  return persist(
    signal,
    () => withGrant(ask, ({ url }) => fetchInto(url, sink, signal, on)),
    () => sink.at,
  );
};
