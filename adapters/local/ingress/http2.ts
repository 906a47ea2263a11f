/**
 * Forwards requests to services that use HTTP/2 without TLS (h2c). All requests to an instance share one session.
 * https://www.rfc-editor.org/rfc/rfc9113
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { saneRequestId } from "../../../core/domain/wire/request-id.ts";
import { affinityCookie, affinityInstance } from "./affinity.ts";
import { type ClientSide, withoutPseudo } from "./client-side.ts";
import { requestScheme } from "./domain.ts";
import {
  BAD_HEADERS,
  BAD_TARGET,
  BAD_TRANSFER_CODING,
  BROKEN_CONNECTION,
  type ErrorResponse,
  responseToRefusal,
  TIMED_OUT,
} from "./error-responses.ts";
import { type ForwardedRequest, namedByConnection, responseHeaders } from "./headers.ts";
import type { PooledInstance } from "./pooled-instance.ts";
import { MAX_ATTEMPTS, type ProxyDeps } from "./proxied-request.ts";
import { requestEntry } from "./request-log.ts";
import type { ActiveRevision, Admission, ServiceRoute } from "./service-route.ts";

const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_AUTHORITY, HTTP2_HEADER_SCHEME, HTTP2_HEADER_STATUS } =
  constants;

/**
 * Headers that are not copied to the instance. Most concern one connection. `te` is copied only if it is `trailers`.
 */
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

/** Returns the session with an instance, or undefined if the connection fails. */
const sessionOf = async (pooled: PooledInstance): Promise<ClientHttp2Session | undefined> => {
  let session = pooled.http2;
  if (session === undefined || session.closed || session.destroyed) {
    // The proxy forwards no pushed streams, and their errors would have no handler.
    session = connect(pooled.origin, { settings: { enablePush: false } });
    // The streams of the session report the error.
    session.on("error", () => undefined);
    pooled.http2 = session;
  }
  if (!session.connecting) return session;
  return new Promise((resolve) => {
    session.once("connect", () => resolve(session));
    session.once("close", () => resolve(undefined));
  });
};

const upstreamHeaders = (client: ClientSide, forwarded: ForwardedRequest, service: string): OutgoingHttpHeaders => {
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

/** Connects the client to a stream of an instance. Resolves when the stream has closed. */
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
    const fail = (answer: ErrorResponse) => {
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
      // The head may be the whole response, as for a failed gRPC call. In that case, the client must not get trailers.
      const whole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      try {
        client.respond(
          status,
          responseHeaders(withoutPseudo(headers) as IncomingHttpHeaders, requestId, cookie),
          whole,
        );
      } catch {
        // The head is invalid in the client's HTTP version.
        fail(BROKEN_CONNECTION);
        return giveUp();
      }
      if (!whole) stream.pipe(client.sink, { end: false });
    });
    stream.on("data", (chunk: Buffer) => {
      responseBytes += chunk.length;
    });
    stream.on("trailers", (trailers) => client.trailers(trailers));
    stream.on("end", () => {
      // Node.js also emits `end` for a stream that was reset or lost its session, sometimes without an error code.
      // Such a stream has `destroyed` set, except after a reset with `NO_ERROR`, which may also precede the response.
      if (over || stream.destroyed || status === 0) return;
      over = true;
      client.sink.end();
      // The service has responded without reading the whole request.
      if (!stream.writableFinished) giveUp();
    });
    stream.on("error", () => undefined);
    stream.once("close", () => {
      clearTimeout(timer);
      // If the stream did not end, it was reset. Node.js does not report every reset as an error.
      fail(BROKEN_CONNECTION);
      resolve({ status, responseBytes });
    });
    client.onClose(() => {
      over = true;
      giveUp();
    });
    if (!client.endsWithHead) client.body.pipe(stream);
  });

/** Forwards the request to an instance. Tries others, at most `MAX_ATTEMPTS` in total, if the connection fails. */
const forward = async (
  client: ClientSide,
  route: ServiceRoute,
  forwarded: ForwardedRequest,
  gone: AbortSignal,
  admitted: (admission: Admission) => void,
): Promise<Outcome> => {
  const { requestId } = forwarded;
  const refuse = (answer: ErrorResponse): Outcome => {
    client.answer(answer, requestId);
    return { status: answer.status, responseBytes: 0 };
  };
  if (!client.path.startsWith("/")) return refuse(BAD_TARGET);
  if (!client.plainOrChunked) return refuse(BAD_TRANSFER_CODING);
  const sticky = route.serving?.template.sessionAffinity === true;
  const affinity = sticky ? affinityInstance(client.headers.cookie) : undefined;
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
    const outcome = route.tryAdmit(affinity) ?? (await route.admit(affinity, gone));
    if (!("slot" in outcome)) return refuse(responseToRefusal(outcome));
    const { slot, serving } = outcome;
    const { pooled } = slot;
    try {
      if (gone.aborted) return refuse(responseToRefusal({ kind: "client_gone" }));
      admitted(outcome);
      const session = await sessionOf(pooled);
      if (session === undefined) {
        serving.pool.giveUp(pooled);
        continue;
      }
      if (gone.aborted) return refuse(responseToRefusal({ kind: "client_gone" }));
      const stream = session.request(upstreamHeaders(client, forwarded, route.name), {
        endStream: client.endsWithHead,
      });
      const { id } = pooled.instance;
      const cookie = sticky && affinity !== id ? affinityCookie(id) : undefined;
      return await exchange(client, stream, serving.template.timeout * 1000, requestId, cookie);
    } catch {
      // The head is invalid in HTTP/2.
      return refuse(BAD_HEADERS);
    } finally {
      slot.release();
    }
  }
  return refuse(BROKEN_CONNECTION);
};

/** Forwards the request of an HTTP/1.1 or HTTP/2 client to an HTTP/2 service and logs it. */
export const serveOverHttp2 = async (deps: ProxyDeps, client: ClientSide, route: ServiceRoute): Promise<void> => {
  const begun = performance.now();
  const requestId = saneRequestId(client.headers["x-request-id"]) ?? deps.ids.id();
  const gone = new AbortController();
  client.onClose(() => gone.abort());
  let serving: ActiveRevision | undefined = route.serving;
  let instance: string | undefined;
  const scheme = requestScheme(client.authority, deps.domain, client.isEncrypted);
  const forwarded = { requestId, remoteIp: client.remoteIp, scheme };
  const { status, responseBytes } = await forward(client, route, forwarded, gone.signal, (admission) => {
    serving = admission.serving;
    instance = admission.slot.pooled.instance.id;
  });
  if (serving === undefined) return;
  deps.log(
    requestEntry(serving.template, serving.revision, {
      method: client.method,
      scheme,
      target: client.path,
      host: client.authority || route.name,
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
