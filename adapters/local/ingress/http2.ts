/**
 * Services that speak HTTP/2 (h2c): streams from any client to one session an instance, trailers intact.
 * https://www.rfc-editor.org/rfc/rfc9113
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type ClientHttp2Session,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { saneRequestId } from "../../../core/domain/request-id.ts";
import { cookieFor, instanceOfCookie } from "./affinity.ts";
import { answerFor, BAD_TARGET, BROKEN, bodyOf, type OwnAnswer, sendOwnAnswer, TIMED_OUT } from "./answers.ts";
import type { FrontDeps } from "./front.ts";
import type { Admission, Gate } from "./gate.ts";
import type { Member } from "./pool.ts";
import { hasBody } from "./relayed-body.ts";
import { requestEntry } from "./request-log.ts";

const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_AUTHORITY, HTTP2_HEADER_SCHEME, HTTP2_HEADER_STATUS } =
  constants;

/** Headers of one connection; HTTP/2 has none of them, `te: trailers` apart. */
const dropped = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "host",
  "expect",
  "http2-settings",
];

const sessionOf = (member: Member): ClientHttp2Session => {
  const kept = member.resources.get("http2") as { session: ClientHttp2Session } | undefined;
  if (kept !== undefined && !kept.session.closed && !kept.session.destroyed) return kept.session;
  const session = connect(`http://127.0.0.1:${member.instance.port}`);
  // A broken session breaks its streams, and those report it.
  session.on("error", () => undefined);
  member.resources.set("http2", { session, close: () => session.destroy() } as { close(): void });
  return session;
};

/** The client's side of an exchange, whichever version of HTTP it speaks. */
interface ClientSide {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  readonly remoteIp: string;
  readonly protocol: string;
  readonly endsWithHead: boolean;
  readonly body: NodeJS.ReadableStream;
  readonly sink: NodeJS.WritableStream;
  started(): boolean;
  respond(headers: IncomingHttpHeaders, extra: Record<string, string>): void;
  trailers(headers: IncomingHttpHeaders): void;
  answer(answer: OwnAnswer, requestId: string): void;
  cut(): void;
  onClose(listener: () => void): void;
}

const withoutPseudo = (headers: IncomingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(":") && !dropped.includes(name)));

const fromStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, remoteIp: string): ClientSide => {
  let trailers: OutgoingHttpHeaders = {};
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  // Its close follows.
  stream.on("error", () => undefined);
  return {
    headers,
    method: String(headers[HTTP2_HEADER_METHOD]),
    path: String(headers[HTTP2_HEADER_PATH] ?? ""),
    authority: String(headers[HTTP2_HEADER_AUTHORITY] ?? headers.host ?? ""),
    remoteIp,
    protocol: "HTTP/2",
    endsWithHead: stream.endAfterHeaders,
    body: stream,
    sink: stream,
    started: () => stream.headersSent,
    respond: (answer, extra) => {
      if (stream.destroyed) return;
      const status = answer[HTTP2_HEADER_STATUS];
      stream.respond({ ...withoutPseudo(answer), ...extra, [HTTP2_HEADER_STATUS]: status }, { waitForTrailers: true });
    },
    trailers: (sent) => {
      trailers = withoutPseudo(sent);
    },
    answer: (answer, requestId) => {
      if (stream.destroyed || stream.headersSent) return;
      const extra = answer.retryAfter === undefined ? {} : { "retry-after": String(answer.retryAfter) };
      stream.respond({
        [HTTP2_HEADER_STATUS]: answer.status,
        "content-type": "application/json",
        "x-request-id": requestId,
        ...extra,
      });
      stream.end(bodyOf(answer));
    },
    cut: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    onClose: (listener) => stream.once("close", listener),
  };
};

const fromRequest = (req: IncomingMessage, res: ServerResponse): ClientSide => ({
  headers: req.headers,
  method: req.method ?? "GET",
  path: req.url ?? "",
  authority: req.headers.host ?? "",
  remoteIp: req.socket.remoteAddress ?? "",
  protocol: `HTTP/${req.httpVersion}`,
  endsWithHead: !hasBody(req),
  body: req,
  sink: res,
  started: () => res.headersSent,
  respond: (answer, extra) => {
    res.writeHead(Number(answer[HTTP2_HEADER_STATUS]), { ...withoutPseudo(answer), ...extra });
    res.flushHeaders();
  },
  trailers: (sent) => {
    if (res.chunkedEncoding) res.addTrailers(withoutPseudo(sent) as Record<string, string>);
  },
  answer: (answer, requestId) => {
    if (!res.headersSent) sendOwnAnswer(res, answer, requestId, !req.complete);
  },
  cut: () => res.destroy(),
  onClose: (listener) => res.once("close", listener),
});

const upstreamHeaders = (client: ClientSide, requestId: string): OutgoingHttpHeaders => {
  const before = client.headers["x-forwarded-for"];
  return {
    ...withoutPseudo(client.headers),
    [HTTP2_HEADER_METHOD]: client.method,
    [HTTP2_HEADER_PATH]: client.path,
    [HTTP2_HEADER_SCHEME]: "http",
    [HTTP2_HEADER_AUTHORITY]: client.authority,
    "x-request-id": requestId,
    "x-forwarded-for": before === undefined ? client.remoteIp : `${before}, ${client.remoteIp}`,
    "x-forwarded-proto": "http",
  };
};

/** Joins the client to a stream of the instance; resolves when both are over. */
const exchange = (client: ClientSide, { lease, serving }: Admission, requestId: string, cookie: string | undefined) =>
  new Promise<number>((resolve) => {
    const stream = sessionOf(lease.member).request(upstreamHeaders(client, requestId), {
      endStream: client.endsWithHead,
    });
    let status = 0;
    const timer = setTimeout(() => {
      status = client.started() ? status : 504;
      if (client.started()) client.cut();
      else client.answer(TIMED_OUT, requestId);
      stream.close(constants.NGHTTP2_CANCEL);
    }, serving.template.timeout * 1000);
    stream.on("response", (headers) => {
      status = Number(headers[HTTP2_HEADER_STATUS]);
      client.respond(headers, { "x-request-id": requestId, ...(cookie === undefined ? {} : { "set-cookie": cookie }) });
      stream.pipe(client.sink);
    });
    stream.on("trailers", (trailers) => client.trailers(trailers));
    stream.on("error", () => {
      if (client.started()) return client.cut();
      status = 502;
      client.answer(BROKEN, requestId);
    });
    stream.once("close", () => {
      clearTimeout(timer);
      lease.release();
      // Closed without an answer and without an error: the instance reset it.
      if (status === 0) client.answer(BROKEN, requestId);
      resolve(status === 0 ? 502 : status);
    });
    client.onClose(() => {
      if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    });
    if (!client.endsWithHead) client.body.pipe(stream);
  });

const serve = async (deps: FrontDeps, client: ClientSide, gate: Gate): Promise<void> => {
  const begun = performance.now();
  const requestId = saneRequestId(client.headers["x-request-id"]) ?? deps.ids.id();
  if (!client.path.startsWith("/")) return client.answer(BAD_TARGET, requestId);
  const gone = new AbortController();
  client.onClose(() => gone.abort());
  const sticky = gate.serving?.template.sessionAffinity === true;
  const affinity = sticky ? instanceOfCookie(client.headers.cookie) : undefined;
  const outcome = gate.tryAdmit(affinity) ?? (await gate.admit(affinity, gone.signal));
  if (!("lease" in outcome)) return client.answer(answerFor(outcome), requestId);
  if (gone.signal.aborted) return outcome.lease.release();
  const { serving, lease } = outcome;
  const { id } = lease.member.instance;
  const status = await exchange(client, outcome, requestId, sticky && affinity !== id ? cookieFor(id) : undefined);
  deps.log(
    requestEntry(serving.template, serving.revision, {
      method: client.method,
      target: client.path,
      host: client.authority,
      status,
      responseBytes: 0,
      userAgent: client.headers["user-agent"],
      remoteIp: client.remoteIp,
      protocol: client.protocol,
      requestId,
      traceparent: client.headers["traceparent"] as string | undefined,
      millis: performance.now() - begun,
      instance: id,
    }),
  );
};

/** Serves a stream of an HTTP/2 client. */
export const serveStream = (
  deps: FrontDeps,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  gate: Gate,
): void => {
  const remoteIp = stream.session?.socket.remoteAddress ?? "";
  void serve(deps, fromStream(stream, headers, remoteIp), gate);
};

/** Serves a request of an HTTP/1.1 client to a service that speaks HTTP/2. */
export const serveOverHttp2 = (deps: FrontDeps, req: IncomingMessage, res: ServerResponse, gate: Gate): void => {
  void serve(deps, fromRequest(req, res), gate);
};
