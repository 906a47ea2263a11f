/** Forwards upgraded connections, such as WebSockets, until either side closes them or the request times out. */

import { type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { saneRequestId } from "../../../core/domain/wire/request-id.ts";
import { affinityCookie, affinityInstance } from "./affinity.ts";
import { isEncrypted } from "./client-side.ts";
import { requestScheme } from "./domain.ts";
import {
  BAD_TARGET,
  BROKEN_CONNECTION,
  type ErrorResponse,
  errorBody,
  errorHeaders,
  NO_UPGRADE,
  responseToRefusal,
  TIMED_OUT,
} from "./error-responses.ts";
import { requestHeaders, responseHeaders } from "./headers.ts";
import { isUnreachable } from "./pooled-instance.ts";
import type { ProxyDeps } from "./proxied-request.ts";
import { hasBody } from "./relayed-body.ts";
import { requestEntry } from "./request-log.ts";
import type { ActiveRevision, ServiceRoute } from "./service-route.ts";

/**
 * True if a request may switch protocols. It must be a GET request without a body. Upgrades to HTTP/2 are excluded:
 * RFC 9113, section 3.1, deprecates them, and clients start HTTP/2 directly.
 */
export const mayUpgrade = (req: IncomingMessage): boolean =>
  req.method === "GET" && !hasBody(req) && req.headers.upgrade?.toLowerCase() !== "h2c";

type Head = Readonly<Record<string, string | readonly string[]>>;

const headText = (status: number, reason: string, headers: Head): string => {
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`));
  return `${[`HTTP/1.1 ${status} ${reason}`, ...lines].join("\r\n")}\r\n\r\n`;
};

/** Headers of every response to an upgrade, unless the service sets them. */
export type UpgradeHeaders = Readonly<Record<string, string>>;

export interface UpgradeDeps extends ProxyDeps {
  readonly added: UpgradeHeaders;
}

export const sendRefusal = (socket: Socket, answer: ErrorResponse, requestId: string, added: UpgradeHeaders): void => {
  const body = errorBody(answer);
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const head = { ...added, ...errorHeaders(answer, requestId), ...length, connection: "close" };
  socket.write(headText(answer.status, "Refused", head) + body);
  socket.destroySoon();
};

export const serveUpgrade = async (
  deps: UpgradeDeps,
  req: IncomingMessage,
  socket: Socket,
  head: Buffer,
  route: ServiceRoute,
): Promise<void> => {
  const begun = performance.now();
  const requestId = saneRequestId(req.headers["x-request-id"]) ?? deps.ids.id();
  const remoteIp = socket.remoteAddress ?? "";
  const scheme = requestScheme(req.headers.host, deps.domain, isEncrypted(socket));
  const log = (status: number, serving: ActiveRevision | undefined, instance?: string, responseBytes = 0) => {
    if (serving === undefined) return;
    deps.log(
      requestEntry(serving.template, serving.revision, {
        method: req.method ?? "GET",
        scheme,
        target: req.url ?? "/",
        host: req.headers.host ?? route.name,
        status,
        responseBytes,
        userAgent: req.headers["user-agent"],
        remoteIp,
        protocol: `HTTP/${req.httpVersion}`,
        requestId,
        traceparent: req.headers["traceparent"] as string | undefined,
        millis: performance.now() - begun,
        instance,
      }),
    );
  };
  const refuseUpgrade = (answer: ErrorResponse) => {
    sendRefusal(socket, answer, requestId, deps.added);
    log(answer.status, route.serving);
  };
  const gone = new AbortController();
  const abort = () => gone.abort();
  socket.on("error", abort);
  socket.once("close", abort);
  if (!mayUpgrade(req)) return refuseUpgrade(NO_UPGRADE);
  if (!req.url?.startsWith("/")) return refuseUpgrade(BAD_TARGET);
  const sticky = route.serving?.template.sessionAffinity === true;
  const affinity = sticky ? affinityInstance(req.headers.cookie) : undefined;
  const outcome = await route.admit(affinity, gone.signal);
  if (!("slot" in outcome)) return refuseUpgrade(responseToRefusal(outcome));
  const { slot, serving } = outcome;
  if (gone.signal.aborted) {
    slot.release();
    return refuseUpgrade(responseToRefusal({ kind: "client_gone" }));
  }
  const { instance } = slot.pooled;
  const protocol = String(req.headers.upgrade);
  const cookie = sticky && affinity !== instance.id ? affinityCookie(instance.id) : undefined;
  const upstream = request({
    ...instance.address,
    method: "GET",
    path: req.url,
    agent: false,
    headers: [...requestHeaders(req, { requestId, remoteIp, scheme }), "Connection", "Upgrade", "Upgrade", protocol],
  });
  let status = 0;
  let joined: Socket | undefined;
  socket.on("close", () => {
    clearTimeout(timer);
    upstream.destroy();
    joined?.destroy();
    slot.release();
    log(status === 0 ? 499 : status, serving, instance.id, joined?.bytesRead);
  });
  const fail = (answer: ErrorResponse) => {
    if (status !== 0 || socket.destroyed) return void socket.destroy();
    status = answer.status;
    sendRefusal(socket, answer, requestId, deps.added);
  };
  const timer = setTimeout(() => fail(TIMED_OUT), serving.template.timeout * 1000);
  const answerHead = (answer: IncomingMessage): Head => {
    status = answer.statusCode ?? 502;
    return { ...deps.added, ...responseHeaders(answer.headers, requestId, cookie) };
  };
  socket.setNoDelay(true);
  upstream.on("error", (error: NodeJS.ErrnoException) => {
    if (isUnreachable(error.code)) serving.pool.giveUp(slot.pooled);
    fail(BROKEN_CONNECTION);
  });
  upstream.on("upgrade", (answer, service: Socket, first) => {
    joined = service;
    joined.setNoDelay(true);
    joined.on("error", () => socket.destroy());
    joined.on("close", () => socket.destroySoon());
    const own = { connection: "Upgrade", upgrade: answer.headers.upgrade ?? protocol };
    socket.write(headText(101, "Switching Protocols", { ...answerHead(answer), ...own }), "latin1");
    if (first.length > 0) socket.write(first);
    if (head.length > 0) joined.write(head);
    joined.pipe(socket).pipe(joined);
  });
  // The service rejected the upgrade. Forward its response, but not the bytes that the client sent after its request.
  upstream.on("response", (answer) => {
    const whole = { ...answerHead(answer), connection: "close" };
    socket.write(headText(answer.statusCode ?? 502, "Refused", whole), "latin1");
    answer.on("error", () => socket.destroy());
    answer.on("end", () => socket.destroySoon());
    answer.pipe(socket, { end: false });
  });
  upstream.end();
};
