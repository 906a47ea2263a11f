/** What a proxy changes in the headers that pass it. https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Scheme } from "./domain.ts";

/** Headers that belong to one connection, not to the message. */
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
  // Answered by our own server.
  "expect",
  // Set anew below.
  "x-request-id",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
]);

/** Headers that route and frame a message: never of its connection, whatever it declares. */
const NEEDED: ReadonlySet<string> = new Set(["close", "keep-alive", "upgrade", "host", "content-length"]);

/** The further headers that a message itself declares to be of its connection. */
export const namedByConnection = (connection: string | undefined): string[] =>
  connection === undefined
    ? []
    : connection
        .toLowerCase()
        .split(",")
        .map((name) => name.trim())
        .filter((name) => !NEEDED.has(name));

/** What a service is told of a request besides what the client said. */
export interface Forwarded {
  readonly requestId: string;
  readonly remoteIp: string;
  /** By which the client asked. */
  readonly scheme: Scheme;
}

/** Request headers for the service, as a flat list; order, case and repetitions are kept. */
export const requestHeaders = (req: IncomingMessage, { requestId, remoteIp, scheme }: Forwarded): string[] => {
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

/** Response headers for the client: the service's, without those of its connection. */
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

/** Sends the head of an answer ahead of its body. `flushHeaders` would write as UTF-8 what was read as Latin-1. */
export const flushHead = (res: ServerResponse): void => {
  res.write("", "latin1");
};
