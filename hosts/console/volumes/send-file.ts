/** Sends files to signed URLs. Uses `XMLHttpRequest`, because `fetch` does not report the progress of an upload. */
import type { OnSent, UploadSource } from "../../client/storage/parts-upload.ts";
import { expectStatus } from "../../client/storage/storage.ts";
import { brokenConnection } from "../../client/storage/storage-error.ts";

/** The timeout of a connection without activity. */
const SILENCE_MS = 120_000;

const isReadable = (blob: Blob): Promise<boolean> =>
  blob
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    );

/** Returns the headers that the storage lets pages read. */
const headersOf = (request: XMLHttpRequest): [string, string][] =>
  request
    .getAllResponseHeaders()
    .split("\r\n")
    .filter((line) => line.includes(":"))
    .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);

const put = (url: string, blob: Blob, signal: AbortSignal, onLoaded: (bytes: number) => void): Promise<Response> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const touch = () => {
      clearTimeout(timer);
      timer = setTimeout(abort, SILENCE_MS);
    };
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    };
    const fail = (reason: string) => () => {
      end();
      reject(signal.aborted ? signal.reason : brokenConnection(new Error(reason)));
    };
    request.upload.addEventListener("progress", ({ loaded }) => {
      touch();
      onLoaded(loaded);
    });
    request.addEventListener("load", () => {
      end();
      resolve(new Response(request.responseText || null, { status: request.status, headers: headersOf(request) }));
    });
    request.addEventListener("error", fail("the network failed"));
    request.addEventListener("abort", fail("no activity for two minutes"));
    signal.addEventListener("abort", abort);
    request.open("PUT", url);
    touch();
    request.send(blob);
    if (signal.aborted) abort();
  });

/** Returns a file as the source of an upload. */
export const fileSource = (file: File, onSent: OnSent): UploadSource => blobSource(file, file.name, onSent);

export const blobSource = (file: Blob, name: string, onSent: OnSent): UploadSource => ({
  size: file.size,
  send: async (url, range, signal) => {
    const { offset, length } = range ?? { offset: 0, length: file.size };
    // A slice has no type, so the browser sends no Content-Type. The signature might not permit one.
    const blob = file.slice(offset, offset + length);
    let reported = 0;
    const report = (bytes: number) => {
      onSent(bytes - reported);
      reported = bytes;
    };
    try {
      const response = await put(url, blob, signal, report);
      await expectStatus(response, 200, 201, 204);
      report(length);
      return { sent: length, tag: response.headers.get("etag") ?? "" };
    } catch (error) {
      report(0);
      if (signal.aborted || (await isReadable(blob))) throw error;
      throw new Error(`Cannot read '${name}': it was changed or moved. Choose the file again.`);
    }
  },
});
