/** Clients of a TLS port on the loopback address. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { type Agent, request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { type Reply, replyOf, type SendOptions } from "../http/clients.ts";

export interface TlsTarget {
  readonly port: number;
  /** The certificate of the authority that the client trusts. */
  readonly ca: string;
}

/** Resolves after the handshake; rejects with the error of the handshake. */
export const handshake = async (
  { port, ca }: TlsTarget,
  servername: string,
  options: ConnectionOptions & { readonly localAddress?: string } = {},
): Promise<TLSSocket> => {
  const socket = connect({ host: "127.0.0.1", port, ca, servername, ...options });
  await once(socket, "secureConnect");
  return socket;
};

/** Returns the alert of a handshake that fails, such as `unrecognized name`. */
export const failedHandshake = (target: TlsTarget, servername: string, options?: ConnectionOptions): Promise<string> =>
  handshake(target, servername, options).then(
    () => "no failure",
    (error: Error) => error.message,
  );

/** Returns the first message that Node's TLS client sends. */
export const helloOf = async (options: ConnectionOptions): Promise<Buffer> => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, ...options });
  client.on("error", () => undefined);
  const [socket] = await once(server, "connection");
  const [bytes] = await once(socket, "data");
  client.destroy();
  server.close();
  return bytes;
};

/** Sends a request over HTTPS with HTTP/1.1. */
export const sendTls = async (
  { port, ca }: TlsTarget,
  host: string,
  { method = "GET", path = "/", headers = {}, body, agent }: SendOptions & { readonly agent?: Agent } = {},
): Promise<Reply> => {
  const sent = request({
    host: "127.0.0.1",
    port,
    ca,
    servername: host,
    method,
    path,
    agent: agent ?? false,
    headers: { host, ...(headers as OutgoingHttpHeaders) },
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return replyOf(response);
};

export const openTlsSession = async ({ port, ca }: TlsTarget, host: string): Promise<ClientHttp2Session> => {
  const session = connectHttp2(`https://${host}:${port}`, {
    ca,
    createConnection: () => connect({ host: "127.0.0.1", port, ca, servername: host, ALPNProtocols: ["h2"] }),
  });
  await once(session, "connect");
  return session;
};

export const sendOver = async (session: ClientHttp2Session, headers: OutgoingHttpHeaders) => {
  const stream = session.request(headers);
  const [head] = await once(stream, "response");
  return { status: head[":status"] as number, headers: head, text: (await stream.toArray()).join("") };
};
