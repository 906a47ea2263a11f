/**
 * What a client does to its request, by either version of HTTP. Node's requests and answers of HTTP/2 look like those of
 * HTTP/1.1, but one whose stream was reset is `complete` and `writableFinished` all the same: the stream itself knows.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";

const streamOf = (raw: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined =>
  (raw as { stream?: ServerHttp2Stream }).stream;

/** True for a request whose client went away before its body was over. */
export const isCut = (request: IncomingMessage): boolean =>
  streamOf(request)?.aborted ?? (request.destroyed && !request.complete);

/** Nothing more can be sent. */
export const isClosed = (response: ServerResponse): boolean => streamOf(response)?.destroyed ?? response.destroyed;

/** Of an answer that is over: true where its client went away before that. */
export const isUnseen = (response: ServerResponse): boolean =>
  streamOf(response)?.aborted ?? !response.writableFinished;

export const hasBody = (request: IncomingMessage): boolean => {
  const stream = streamOf(request);
  if (stream !== undefined) return !stream.endAfterHeaders;
  const { headers } = request;
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
};

/** Lets go of a client that is still sending. */
export const hangUp = (request: IncomingMessage): void => {
  const stream = streamOf(request);
  if (stream === undefined) request.destroy();
  else stream.close(constants.NGHTTP2_NO_ERROR);
};
