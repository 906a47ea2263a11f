/**
 * Sends a PUT to the storage. Uses `node:http`, because `fetch` ignores backpressure of a streamed body: with `fetch`,
 * an upload of 256 MiB needed 300 MiB of memory.
 */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as plain } from "node:http";
import { request as encrypted } from "node:https";
import { text } from "node:stream/consumers";
import { brokenConnection } from "../../../client/storage/storage-error.ts";

/** The timeout of a connection without activity. */
const SILENCE_MS = 300_000;

export interface Put {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/**
 * Writes the body with backpressure. `pipeline` cannot be used: if the body fails before the connection is established,
 * it destroys the request without an error event.
 */
const feed = async (request: ClientRequest, body: AsyncIterable<Uint8Array>, over: AbortSignal): Promise<void> => {
  for await (const piece of body) if (!request.write(piece)) await once(request, "drain", { signal: over });
  request.end();
};

const textOf = async (message: IncomingMessage): Promise<Response> => {
  const { statusCode: status = 0, headers } = message;
  const { "retry-after": after, etag } = headers;
  return new Response((await text(message)) || null, {
    status,
    headers: { ...(after === undefined ? {} : { "retry-after": after }), ...(etag === undefined ? {} : { etag }) },
  });
};

/**
 * Resolves to the response with its body, regardless of its status. The response may arrive before the whole request
 * body is sent.
 */
export const putToStorage = async (url: string, { headers, body, signal }: Put): Promise<Response> => {
  const request = (url.startsWith("https:") ? encrypted : plain)(url, { method: "PUT", headers, signal });
  request.setTimeout(SILENCE_MS, () => request.destroy(new Error("no activity for 5 minutes")));
  const over = new AbortController();
  try {
    return await new Promise<Response>((resolve, reject) => {
      request.on("error", reject).on("response", (message) => void textOf(message).then(resolve, reject));
      feed(request, body, over.signal).catch(reject);
    });
  } catch (error) {
    throw signal.aborted ? error : brokenConnection(error);
  } finally {
    over.abort();
    // After an error or an early response, the rest of the body is not needed.
    if (!request.writableFinished) request.destroy();
  }
};
