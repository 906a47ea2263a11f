/** The client's side of an exchange with an HTTP/2 service; the client may use HTTP/1.1 or HTTP/2. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { drainBody } from "../../shared/calls/drain-body.ts";
import { type ErrorResponse, errorBody, errorHeaders, sendErrorResponse } from "./error-responses.ts";
import { flushHead } from "./headers.ts";
import { hasBody, hasKnownTransferCoding } from "./relayed-body.ts";

const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_AUTHORITY, HTTP2_HEADER_STATUS } = constants;

export interface ClientSide {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  readonly remoteIp: string;
  /** Whether Portside terminated TLS for the connection. */
  readonly isEncrypted: boolean;
  readonly protocol: string;
  readonly endsWithHead: boolean;
  readonly plainOrChunked: boolean;
  readonly body: NodeJS.ReadableStream;
  readonly sink: NodeJS.WritableStream;
  started(): boolean;
  /** @param whole true if the response has no body and no trailers */
  respond(status: number, headers: OutgoingHttpHeaders, whole: boolean): void;
  trailers(headers: IncomingHttpHeaders): void;
  answer(answer: ErrorResponse, requestId: string): void;
  cut(): void;
  onClose(listener: () => void): void;
}

export const isEncrypted = (socket: Socket): boolean => "encrypted" in socket && socket.encrypted === true;

export const withoutPseudo = (headers: IncomingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(":")));

/** A client may send `Host` instead of `:authority` (RFC 9113, section 8.3.1). Returns `""` if it sends neither. */
export const authorityOf = (headers: IncomingHttpHeaders): string =>
  String(headers[HTTP2_HEADER_AUTHORITY] ?? headers.host ?? "");

/** @param added headers of every response, unless the service sets them */
export const fromStream = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  connection: Socket,
  added: OutgoingHttpHeaders = {},
): ClientSide => {
  let trailers: OutgoingHttpHeaders = {};
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  return {
    headers,
    method: String(headers[HTTP2_HEADER_METHOD]),
    path: String(headers[HTTP2_HEADER_PATH] ?? ""),
    authority: authorityOf(headers),
    remoteIp: connection.remoteAddress ?? "",
    isEncrypted: isEncrypted(connection),
    protocol: "HTTP/2",
    endsWithHead: stream.endAfterHeaders,
    plainOrChunked: true,
    body: stream,
    sink: stream,
    started: () => stream.headersSent,
    respond: (status, answer, whole) => {
      if (stream.destroyed) return;
      const head = { ...added, ...answer, [HTTP2_HEADER_STATUS]: status };
      stream.respond(head, whole ? { endStream: true } : { waitForTrailers: true });
    },
    trailers: (sent) => {
      trailers = withoutPseudo(sent);
    },
    answer: (answer, requestId) => {
      if (stream.destroyed || stream.headersSent) return;
      stream.respond({ ...added, [HTTP2_HEADER_STATUS]: answer.status, ...errorHeaders(answer, requestId) });
      stream.end(errorBody(answer));
      // Discard the rest of the request. Some clients read the response only after they have sent everything.
      stream.resume();
    },
    cut: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    onClose: (listener) => stream.once("close", listener),
  };
};

export const fromRequest = (req: IncomingMessage, res: ServerResponse): ClientSide => {
  res.once("close", () => drainBody(req));
  return {
    headers: req.headers,
    method: req.method ?? "GET",
    path: req.url ?? "",
    authority: req.headers.host ?? "",
    remoteIp: req.socket.remoteAddress ?? "",
    isEncrypted: isEncrypted(req.socket),
    protocol: `HTTP/${req.httpVersion}`,
    endsWithHead: !hasBody(req),
    plainOrChunked: hasKnownTransferCoding(req),
    body: req,
    sink: res,
    started: () => res.headersSent,
    respond: (status, answer, whole) => {
      res.writeHead(status, answer);
      if (whole) res.end();
      else flushHead(res);
    },
    trailers: (sent) => {
      if (res.chunkedEncoding) res.addTrailers(withoutPseudo(sent) as Record<string, string>);
    },
    answer: (answer, requestId) => {
      if (!res.headersSent) sendErrorResponse(res, answer, requestId);
    },
    cut: () => res.destroy(),
    onClose: (listener) => res.once("close", listener),
  };
};
