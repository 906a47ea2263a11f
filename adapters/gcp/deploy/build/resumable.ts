/**
 * Uploads an object in pieces: https://docs.cloud.google.com/storage/docs/performing-resumable-uploads. The session's
 * URL "acts as an authentication token", so requests to it need no client.
 */
import type { Storage } from "@google-cloud/storage";
import type { ProviderCall } from "../../../cloud/calls/provider-call.ts";
import type { Called, PieceUpload } from "../../../cloud/deploy/build/bucket-spool.ts";
import { withTimeout } from "../../call-policy.ts";

const RETRY_MS = 60_000;
/** Timeout for the transfer of a piece, in milliseconds. */
const PIECE_TIMEOUT_MS = 120_000;
/** Timeout of an abort, in milliseconds. An unfinished upload creates no object, and expires after a week. */
const ABORT_TIMEOUT_MS = 5000;

const INCOMPLETE = 308;
/** Status of a cancelled session. */
const CANCELLED = 499;
const REQUEST_TIMEOUT = 408;

const uploadOptions = { metadata: { contentType: "application/gzip" } } as const;

/** An error in the form that `googleFault` classifies. */
const failureOf = (status: number, headers: Headers): Error =>
  Object.assign(new Error(`Cloud Storage responded with ${status} during an upload.`), {
    code: status,
    response: { headers },
  });

const send = async (url: string, init: RequestInit, millis: number, signal?: AbortSignal): Promise<Response> => {
  const limit = AbortSignal.timeout(millis);
  try {
    const response = await fetch(url, {
      ...init,
      redirect: "manual",
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    await response.arrayBuffer();
    return response;
  } catch (cause) {
    // fetch rejects only for errors of the connection or of the signal.
    const isEnded = signal?.aborted === true || limit.aborted;
    const code = isEnded ? "AbortError" : "ECONNRESET";
    throw Object.assign(new Error("A request to Cloud Storage failed during an upload.", { cause }), { code });
  }
};

export const resumableUpload = (
  storage: () => Promise<Storage>,
  bucket: string,
  name: string,
  call: ProviderCall,
  signal: AbortSignal,
): PieceUpload => {
  let put = 0;

  const begin = (): Called<string> =>
    call({ what: "storage.objects.insert", timeoutMs: RETRY_MS, signal }, async () => {
      const file = (await storage()).bucket(bucket).file(name);
      const [uri] = await withTimeout(file.createResumableUpload(uploadOptions));
      return uri;
    });

  /** Returns the number of bytes that the session has stored, or undefined if the object is complete. */
  const storedBytes = async (uri: string, total: string): Promise<number | undefined> => {
    const headers = { "content-range": `bytes */${total}` };
    const response = await send(uri, { method: "PUT", headers }, PIECE_TIMEOUT_MS, signal);
    if (response.ok) return undefined;
    if (response.status !== INCOMPLETE) throw failureOf(response.status, response.headers);
    const last = /^bytes=0-(\d+)$/.exec(response.headers.get("range") ?? "")?.[1];
    return last === undefined ? 0 : Number(last) + 1;
  };

  /** Uploads a piece from the session's current position. */
  const piece = async (uri: string, bytes: Uint8Array, isLast: boolean): Called<void> => {
    const end = put + bytes.length;
    const total = isLast ? String(end) : "*";
    let isRepeat = false;
    const done = await call<void>({ what: "storage.objects.insert.chunk", timeoutMs: RETRY_MS, signal }, async () => {
      const from = isRepeat ? await storedBytes(uri, total) : put;
      isRepeat = true;
      if (from === undefined || (!isLast && from >= end)) return;
      const headers = { "content-range": `bytes ${from}-${end - 1}/${total}` };
      const body = bytes.subarray(from - put) as Uint8Array<ArrayBuffer>;
      const response = await send(uri, { method: "PUT", headers, body }, PIECE_TIMEOUT_MS, signal);
      if (response.ok || (!isLast && response.headers.get("range") === `bytes=0-${end - 1}`)) return;
      // The session may have stored part of the piece; the next attempt sends the rest.
      throw failureOf(response.status === INCOMPLETE ? REQUEST_TIMEOUT : response.status, response.headers);
    });
    if (done.isOk()) put = end;
    return done;
  };

  const whole = (bytes: Uint8Array): Called<void> =>
    call({ what: "storage.objects.insert", timeoutMs: RETRY_MS, signal }, async () => {
      const file = (await storage()).bucket(bucket).file(name);
      await withTimeout(file.save(Buffer.from(bytes), { ...uploadOptions, resumable: false, validation: false }));
    });

  return {
    whole,
    begin,
    put: (uri, bytes) => piece(uri, bytes, false),
    finish: (uri, bytes) => piece(uri, bytes, true),
    abort: (uri) =>
      call<void>({ what: "storage.objects.insert.cancel", timeoutMs: ABORT_TIMEOUT_MS }, async () => {
        const response = await send(uri, { method: "DELETE" }, ABORT_TIMEOUT_MS);
        if (!response.ok && response.status !== CANCELLED) throw failureOf(response.status, response.headers);
      }),
  };
};
