/** WebSocket and other upgrades: two sockets joined, for as long as the request's timeout allows. */

import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { saneRequestId } from "../../../core/domain/request-id.ts";
import { instanceOfCookie } from "./affinity.ts";
import { answerFor, bodyOf, type OwnAnswer } from "./answers.ts";
import type { FrontDeps } from "./front.ts";
import type { Gate } from "./gate.ts";
import { requestEntry } from "./request-log.ts";

const refuse = (socket: Socket, { status, retryAfter, ...answer }: OwnAnswer): void => {
  const body = bodyOf({ status, ...answer });
  const retry = retryAfter === undefined ? "" : `Retry-After: ${retryAfter}\r\n`;
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${retry}Connection: close\r\n\r\n${body}`,
  );
};

/** The request's head as it came, with what a proxy adds. */
const headOf = (req: IncomingMessage, requestId: string, remoteIp: string): string => {
  const lines = [`${req.method} ${req.url} HTTP/1.1`];
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    const name = req.rawHeaders[at] as string;
    if (["x-request-id", "x-forwarded-for", "x-forwarded-proto"].includes(name.toLowerCase())) continue;
    lines.push(`${name}: ${req.rawHeaders[at + 1]}`);
  }
  const before = req.headers["x-forwarded-for"];
  lines.push(
    `X-Request-Id: ${requestId}`,
    `X-Forwarded-For: ${before === undefined ? remoteIp : `${before}, ${remoteIp}`}`,
    "X-Forwarded-Proto: http",
  );
  return `${lines.join("\r\n")}\r\n\r\n`;
};

/** The status of the first answer line that the instance sends. */
const statusOf = (chunk: Buffer): number =>
  Number(/^HTTP\/1\.[01] (\d{3})/.exec(chunk.subarray(0, 16).toString("latin1"))?.[1] ?? 502);

export const serveUpgrade = async (
  deps: FrontDeps,
  req: IncomingMessage,
  socket: Socket,
  head: Buffer,
  gate: Gate,
): Promise<void> => {
  const begun = performance.now();
  const requestId = saneRequestId(req.headers["x-request-id"]) ?? deps.ids.id();
  const remoteIp = socket.remoteAddress ?? "";
  const gone = new AbortController();
  const abort = () => gone.abort();
  socket.on("error", abort);
  socket.once("close", abort);
  const affinity = gate.serving?.template.sessionAffinity === true ? instanceOfCookie(req.headers.cookie) : undefined;
  const outcome = await gate.admit(affinity, gone.signal);
  if (!("lease" in outcome)) return refuse(socket, answerFor(outcome));
  const { lease, serving } = outcome;
  const { instance } = lease.member;
  if (gone.signal.aborted) return lease.release();
  const upstream = connect({ host: "127.0.0.1", port: instance.port });
  let status = 502;
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    upstream.destroy();
    socket.destroy();
    lease.release();
    deps.log(
      requestEntry(serving.template, serving.revision, {
        method: req.method ?? "GET",
        target: req.url ?? "/",
        host: req.headers.host ?? gate.name,
        status,
        responseBytes: upstream.bytesRead,
        userAgent: req.headers["user-agent"],
        remoteIp,
        protocol: `HTTP/${req.httpVersion}`,
        requestId,
        traceparent: req.headers["traceparent"] as string | undefined,
        millis: performance.now() - begun,
        instance: instance.id,
      }),
    );
  };
  const timer = setTimeout(end, serving.template.timeout * 1000);
  upstream.setNoDelay(true);
  socket.setNoDelay(true);
  upstream.once("connect", () => {
    upstream.write(headOf(req, requestId, remoteIp));
    if (head.length > 0) upstream.write(head);
    upstream.once("data", (chunk: Buffer) => {
      status = statusOf(chunk);
    });
    upstream.pipe(socket).pipe(upstream);
  });
  for (const side of [upstream, socket]) {
    side.on("error", end);
    side.on("close", end);
  }
};
