/**
 * Services that speak HTTP/2 (h2c): streams from any client to one session an instance, trailers intact.
 * https://www.rfc-editor.org/rfc/rfc9113
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { saneRequestId } from "../../../core/domain/request-id.ts";
import { cookieFor, instanceOfCookie } from "./affinity.ts";
import { answerFor, BAD_CODING, BAD_HEAD, BAD_TARGET, BROKEN, type OwnAnswer, TIMED_OUT } from "./answers.ts";
import { type ClientSide, fromRequest, fromStream, withoutPseudo } from "./client-side.ts";
import { schemeAskedFor } from "./domain.ts";
import { type FrontDeps, TRIES } from "./front.ts";
import type { Admission, Gate, Serving } from "./gate.ts";
import { type Forwarded, namedByConnection, responseHeaders } from "./headers.ts";
import type { Member } from "./member.ts";
import { requestEntry } from "./request-log.ts";

const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_AUTHORITY, HTTP2_HEADER_SCHEME, HTTP2_HEADER_STATUS } =
  constants;

/** Headers of one connection; HTTP/2 has none of them, `te: trailers` apart. */
const dropped = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authorization",
  "transfer-encoding",
  "upgrade",
  "host",
  "expect",
  "http2-settings",
]);

/** The session with an instance, or undefined where the instance does not take one. */
const sessionOf = async (member: Member): Promise<ClientHttp2Session | undefined> => {
  const kept = member.resources.get("http2") as { session: ClientHttp2Session } | undefined;
  let session = kept?.session;
  if (session === undefined || session.closed || session.destroyed) {
    const made = connect(member.origin);
    // A broken session breaks its streams, and those report it.
    made.on("error", () => undefined);
    member.resources.set("http2", { session: made, close: () => made.destroy() } as { close(): void });
    session = made;
  }
  const { connecting } = session;
  if (!connecting) return session;
  return new Promise((resolve) => {
    session.once("connect", () => resolve(session));
    session.once("close", () => resolve(undefined));
  });
};

const upstreamHeaders = (client: ClientSide, forwarded: Forwarded, service: string): OutgoingHttpHeaders => {
  const { requestId, remoteIp, scheme } = forwarded;
  const headers: OutgoingHttpHeaders = {};
  const named = namedByConnection(client.headers.connection);
  for (const [name, value] of Object.entries(client.headers)) {
    if (name.startsWith(":") || dropped.has(name) || named.includes(name)) continue;
    if (name !== "te" || value === "trailers") headers[name] = value;
  }
  const before = headers["x-forwarded-for"];
  const authority = client.authority || service;
  return {
    ...headers,
    [HTTP2_HEADER_METHOD]: client.method,
    [HTTP2_HEADER_PATH]: client.path,
    [HTTP2_HEADER_SCHEME]: "http",
    [HTTP2_HEADER_AUTHORITY]: authority,
    "x-request-id": requestId,
    "x-forwarded-for": before === undefined ? remoteIp : `${before}, ${remoteIp}`,
    "x-forwarded-proto": scheme,
    "x-forwarded-host": authority,
  };
};

interface Outcome {
  readonly status: number;
  readonly responseBytes: number;
}

/** Joins the client to a stream of the instance; resolves when the stream is over. */
const exchange = (
  client: ClientSide,
  stream: ClientHttp2Stream,
  timeoutMillis: number,
  requestId: string,
  cookie: string | undefined,
) =>
  new Promise<Outcome>((resolve) => {
    let status = 0;
    let responseBytes = 0;
    let over = false;
    const fail = (answer: OwnAnswer) => {
      if (over) return;
      over = true;
      if (client.started()) return client.cut();
      status = answer.status;
      client.answer(answer, requestId);
    };
    const giveUp = () => {
      if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    };
    const timer = setTimeout(() => {
      fail(TIMED_OUT);
      giveUp();
    }, timeoutMillis);
    stream.on("response", (headers, flags) => {
      if (over) return;
      status = Number(headers[HTTP2_HEADER_STATUS]);
      // The whole answer may be its head, as a failed call of gRPC is; it must not grow trailers on its way.
      const whole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      try {
        client.respond(
          status,
          responseHeaders(withoutPseudo(headers) as IncomingHttpHeaders, requestId, cookie),
          whole,
        );
      } catch {
        // A head that this client's version of HTTP cannot have.
        fail(BROKEN);
        return giveUp();
      }
      if (!whole) stream.pipe(client.sink, { end: false });
    });
    stream.on("data", (chunk: Buffer) => {
      responseBytes += chunk.length;
    });
    stream.on("trailers", (trailers) => client.trailers(trailers));
    stream.on("end", () => {
      // Node ends a stream that was reset, too, and one whose session broke, at times without a code: it is destroyed then.
      if (over || stream.destroyed) return;
      over = true;
      client.sink.end();
      // What the service did not wait for it will not read.
      if (!stream.writableFinished) giveUp();
    });
    stream.on("error", () => undefined);
    stream.once("close", () => {
      clearTimeout(timer);
      // Reset without an answer, or in the middle of one; to Node not every reset is an error.
      fail(BROKEN);
      resolve({ status, responseBytes });
    });
    client.onClose(() => {
      over = true;
      giveUp();
    });
    if (!client.endsWithHead) client.body.pipe(stream);
  });

/** Asks an instance, or another where nobody listens at the first. */
const forward = async (
  client: ClientSide,
  gate: Gate,
  forwarded: Forwarded,
  gone: AbortSignal,
  admitted: (admission: Admission) => void,
): Promise<Outcome> => {
  const { requestId } = forwarded;
  const refuse = (answer: OwnAnswer): Outcome => {
    client.answer(answer, requestId);
    return { status: answer.status, responseBytes: 0 };
  };
  if (!client.path.startsWith("/")) return refuse(BAD_TARGET);
  if (!client.plainOrChunked) return refuse(BAD_CODING);
  const sticky = gate.serving?.template.sessionAffinity === true;
  const affinity = sticky ? instanceOfCookie(client.headers.cookie) : undefined;
  for (let tries = 0; tries < TRIES; tries++) {
    const outcome = gate.tryAdmit(affinity) ?? (await gate.admit(affinity, gone));
    if (!("lease" in outcome)) return refuse(answerFor(outcome));
    const { lease, serving } = outcome;
    const { member } = lease;
    try {
      if (gone.aborted) return refuse(answerFor({ kind: "client_gone" }));
      admitted(outcome);
      const session = await sessionOf(member);
      if (session === undefined) {
        serving.pool.giveUp(member);
        continue;
      }
      if (gone.aborted) return refuse(answerFor({ kind: "client_gone" }));
      const stream = session.request(upstreamHeaders(client, forwarded, gate.name), {
        endStream: client.endsWithHead,
      });
      const { id } = member.instance;
      const cookie = sticky && affinity !== id ? cookieFor(id) : undefined;
      return await exchange(client, stream, serving.template.timeout * 1000, requestId, cookie);
    } catch {
      // A head that HTTP/1.1 allows and HTTP/2 does not.
      return refuse(BAD_HEAD);
    } finally {
      lease.release();
    }
  }
  return refuse(BROKEN);
};

const serve = async (deps: FrontDeps, client: ClientSide, gate: Gate): Promise<void> => {
  const begun = performance.now();
  const requestId = saneRequestId(client.headers["x-request-id"]) ?? deps.ids.id();
  const gone = new AbortController();
  client.onClose(() => gone.abort());
  let serving: Serving | undefined = gate.serving;
  let instance: string | undefined;
  const scheme = schemeAskedFor(client.authority, deps.domain);
  const forwarded = { requestId, remoteIp: client.remoteIp, scheme };
  const { status, responseBytes } = await forward(client, gate, forwarded, gone.signal, (admission) => {
    serving = admission.serving;
    instance = admission.lease.member.instance.id;
  });
  if (serving === undefined) return;
  deps.log(
    requestEntry(serving.template, serving.revision, {
      method: client.method,
      target: client.path,
      host: client.authority || gate.name,
      status: status === 0 ? 499 : status,
      responseBytes,
      userAgent: client.headers["user-agent"],
      remoteIp: client.remoteIp,
      protocol: client.protocol,
      requestId,
      traceparent: client.headers["traceparent"] as string | undefined,
      millis: performance.now() - begun,
      instance,
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
