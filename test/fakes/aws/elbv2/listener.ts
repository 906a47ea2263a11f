/**
 * The fake load balancer's listeners: HTTP/1.1 without TLS, and HTTP/2 or HTTP/1.1 with TLS. They forward each request
 * by its route.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp1,
  type ServerResponse,
} from "node:http";
import { connect, createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import type { Readable, Writable } from "node:stream";
import { certificate, privateKey } from "./certificate.ts";

export interface RoutedRequest {
  readonly host: string;
  readonly isHttp2: boolean;
  readonly cookies: ReadonlyMap<string, string>;
}

/** `setCookies` are values of the response's header `set-cookie`. */
export type Route =
  | { readonly status: number }
  | { readonly target: string; readonly isHttp2: boolean; readonly setCookies: readonly string[] };

type Incoming = IncomingMessage | Http2ServerRequest;
/** Node gives both kinds of response the methods that are used here. */
type Outgoing = ServerResponse;
type Headers = Readonly<Record<string, string | string[]>>;

/** Hop-by-hop headers, which a proxy must not forward (RFC 9110, section 7.6.1). */
const OF_CONNECTION = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

const passedOn = (headers: IncomingHttpHeaders): Headers =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || name.startsWith(":") || OF_CONNECTION.includes(name) ? [] : [[name, value]],
    ),
  );

const authorityOf = ({ headers }: Incoming): string => String(headers[":authority"] ?? headers.host ?? "");

const cookiesOf = ({ headers }: Incoming): ReadonlyMap<string, string> =>
  new Map(
    (headers.cookie ?? "").split(/; */).map((pair): [string, string] => {
      const [name = "", ...value] = pair.split("=");
      return [name, value.join("=")];
    }),
  );

const refuse = (response: Outgoing, status: number): void => {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { "content-length": "0" });
  response.end();
};

interface Upstream {
  readonly body: Writable;
  /** Resolves with the response's head, and its body. */
  readonly response: Promise<readonly [status: number, headers: Headers, body: Readable]>;
  end(): void;
}

const overHttp1 = (incoming: Incoming, target: string): Upstream => {
  const { hostname, port } = new URL(`http://${target}`);
  const headers = { ...passedOn(incoming.headers), host: authorityOf(incoming) };
  const to = { hostname, port, method: incoming.method ?? "GET", path: incoming.url ?? "/", headers, agent: false };
  const body = requestHttp1(to);
  const response = new Promise<Awaited<Upstream["response"]>>((resolve, reject) => {
    body.once("response", (answer) => resolve([answer.statusCode ?? 502, passedOn(answer.headers), answer]));
    body.on("error", reject);
  });
  return { body, response, end: () => void body.destroy() };
};

const overHttp2 = (incoming: Incoming, target: string): Upstream => {
  const session = connect(`http://${target}`);
  const { host: _host, ...headers } = passedOn(incoming.headers);
  const pseudo = { ":method": incoming.method ?? "GET", ":path": incoming.url ?? "/" };
  const body = session.request({ ...pseudo, ":authority": authorityOf(incoming), ...headers }, { endStream: false });
  const response = new Promise<Awaited<Upstream["response"]>>((resolve, reject) => {
    body.once("response", (answer) => resolve([Number(answer[":status"]), passedOn(answer), body]));
    for (const one of [session, body]) one.on("error", reject);
  });
  return { body, response, end: () => void session.destroy() };
};

type Choose = (request: RoutedRequest) => Promise<Route>;

const serveRequest = async (choose: Choose, incoming: Incoming, outgoing: Outgoing): Promise<void> => {
  const host = authorityOf(incoming).replace(/:\d+$/, "").toLowerCase();
  const isHttp2 = incoming.httpVersionMajor === 2;
  const route = await choose({ host, isHttp2, cookies: cookiesOf(incoming) });
  if ("status" in route) return refuse(outgoing, route.status);
  const upstream = (route.isHttp2 ? overHttp2 : overHttp1)(incoming, route.target);
  outgoing.once("close", upstream.end);
  incoming.pipe(upstream.body);
  const [status, headers, body] = await upstream.response;
  const setCookies = [headers["set-cookie"] ?? [], route.setCookies].flat();
  outgoing.writeHead(status, { ...headers, ...(setCookies.length > 0 && { "set-cookie": setCookies }) });
  body.on("error", () => outgoing.destroy());
  body.on("aborted", () => outgoing.destroy());
  body.pipe(outgoing);
};

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
};

export const startListener = async (choose: Choose) => {
  const serve = (incoming: Incoming, outgoing: ServerResponse | Http2ServerResponse): void => {
    const response = outgoing as unknown as Outgoing;
    response.on("error", () => undefined);
    serveRequest(choose, incoming, response).catch(() => refuse(response, 502));
  };
  const sockets = new Set<{ destroy(): unknown }>();
  const plain = createServer({ requestTimeout: 0 }, serve);
  const secure = createSecureServer({ key: privateKey, cert: certificate, allowHTTP1: true }, serve);
  for (const server of [plain, secure])
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
  return {
    port: await listening(plain),
    securePort: await listening(secure),
    close: () => {
      for (const server of [plain, secure]) server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
