/** Rewrites headers for the next hop. https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Scheme } from "./domain.ts";

/** Headers that are not copied to the next hop. Most of them concern one connection, not the message. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  // The listener handles this header.
  "expect",
  // `requestHeaders` sets these.
  "x-request-id",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
]);

/**
 * Names that `namedByConnection` omits. `close` is not a header, and `HOP_BY_HOP` contains `keep-alive` and `upgrade`.
 * The proxy needs `host` and `content-length` even if `Connection` lists them.
 */
const NEEDED: ReadonlySet<string> = new Set(["close", "keep-alive", "upgrade", "host", "content-length"]);

/** Returns the other headers that concern one connection, as listed in the `Connection` header. */
export const namedByConnection = (connection: string | undefined): string[] =>
  connection === undefined
    ? []
    : connection
        .toLowerCase()
        .split(",")
        .map((name) => name.trim())
        .filter((name) => !NEEDED.has(name));

/** The values that the proxy adds to a request's headers. */
export interface ForwardedRequest {
  readonly requestId: string;
  readonly remoteIp: string;
  /** The scheme of the client's request. */
  readonly scheme: Scheme;
}

/** Returns the request's headers for the service, as a flat list that keeps order, case and repetitions. */
export const requestHeaders = (req: IncomingMessage, { requestId, remoteIp, scheme }: ForwardedRequest): string[] => {
  const raw = req.rawHeaders;
  const named = namedByConnection(req.headers.connection);
  const headers: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || lower.startsWith(":") || (named.length > 0 && named.includes(lower))) continue;
    headers.push(name, raw[at + 1] as string);
  }
  const before = req.headers["x-forwarded-for"];
  headers.push("X-Request-Id", requestId);
  headers.push("X-Forwarded-For", before === undefined ? remoteIp : `${before}, ${remoteIp}`);
  headers.push("X-Forwarded-Proto", scheme);
  if (req.headers.host !== undefined) headers.push("X-Forwarded-Host", req.headers.host);
  return headers;
};

/** Returns the service's response headers without connection headers. */
export const responseHeaders = (
  headers: IncomingHttpHeaders,
  requestId: string,
  cookie: string | undefined,
): Record<string, string | string[]> => {
  const kept: Record<string, string | string[]> = {};
  const named = namedByConnection(headers.connection);
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || HOP_BY_HOP.has(name) || (named.length > 0 && named.includes(name))) continue;
    kept[name] = value;
  }
  kept["x-request-id"] = requestId;
  if (cookie !== undefined) kept["set-cookie"] = [...(headers["set-cookie"] ?? []), cookie];
  return kept;
};

/** Sends a response's head before its body. `flushHeaders` would write UTF-8, but the head was read as Latin-1. */
export const flushHead = (res: ServerResponse): void => {
  res.write("", "latin1");
};
