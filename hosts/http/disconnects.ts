/**
 * Detects disconnected clients over HTTP/1.1 and HTTP/2. Node's HTTP/2 compatibility API reports a reset stream as
 * `complete` and `writableFinished`, so these functions read the state of the stream.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";

const streamOf = (raw: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined =>
  (raw as { stream?: ServerHttp2Stream }).stream;

/** Returns whether the client disconnected before it sent the whole body. */
export const requestAborted = (request: IncomingMessage): boolean =>
  streamOf(request)?.aborted ?? (request.destroyed && !request.complete);

/** Returns whether the response can no longer be written. */
export const isClosed = (response: ServerResponse): boolean => streamOf(response)?.destroyed ?? response.destroyed;

/** Returns whether the client disconnected before it received the whole response. Call it once the response closes. */
export const clientDisconnected = (response: ServerResponse): boolean =>
  streamOf(response)?.aborted ?? !response.writableFinished;

export const hasBody = (request: IncomingMessage): boolean => {
  const stream = streamOf(request);
  if (stream !== undefined) return !stream.endAfterHeaders;
  const { headers } = request;
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
};

/** Disconnects a client that is still sending. */
export const hangUp = (request: IncomingMessage): void => {
  const stream = streamOf(request);
  if (stream === undefined) request.destroy();
  else stream.close(constants.NGHTTP2_NO_ERROR);
};

/** Disconnects a client that is receiving the response. */
export const cutOff = (response: ServerResponse): void => {
  const stream = streamOf(response);
  if (stream === undefined) response.destroy();
  else stream.close(constants.NGHTTP2_CANCEL);
};
