/**
 * A PUT to the storage. By `node:http`, because `fetch` reads a streamed body as fast as it comes, whatever the
 * connection takes: 256 MiB sent are 300 MiB held.
 */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as plain } from "node:http";
import { request as encrypted } from "node:https";
import { text } from "node:stream/consumers";
import { broken } from "./storage.ts";

/** A storage that neither takes nor says anything for so long is given up. */
const SILENCE_MS = 300_000;

export interface Put {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/**
 * Hands the body over as fast as the connection takes it. Not by `pipeline`: where the body fails before the connection
 * stands, that takes the request away without a word to those who wait for its answer.
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

/** The whole answer, whatever it is; it may come before all was sent. */
export const putToStorage = async (url: string, { headers, body, signal }: Put): Promise<Response> => {
  const request = (url.startsWith("https:") ? encrypted : plain)(url, { method: "PUT", headers, signal });
  request.setTimeout(SILENCE_MS, () => request.destroy(new Error("silent for 5 minutes")));
  const over = new AbortController();
  try {
    return await new Promise<Response>((resolve, reject) => {
      request.on("error", reject).on("response", (message) => void textOf(message).then(resolve, reject));
      feed(request, body, over.signal).catch(reject);
    });
  } catch (error) {
    throw signal.aborted ? error : broken(error);
  } finally {
    over.abort();
    // What was refused need not be sent on.
    if (!request.writableFinished) request.destroy();
  }
};
