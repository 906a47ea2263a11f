/** HTTP clients for tests: one that returns every detail of a response, and one that sends raw bytes. */
import {
  type Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { connect, type Socket } from "node:net";

export interface Reply {
  readonly status: number;
  readonly reason: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly trailers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  readonly text: string;
}

export interface SendOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders | readonly string[];
  readonly body?: string | Uint8Array;
  /** Keeps connections alive. Without an agent, every request opens a new connection. */
  readonly agent?: Agent;
}

export interface Opened {
  readonly request: ClientRequest;
  /** The head of the response. */
  readonly response: Promise<IncomingMessage>;
}

export const portOf = (url: string): number => Number(new URL(url).port);

/** Begins a request; the caller writes and ends its body. */
export const openRequest = (url: string, { method, path, headers, agent }: Omit<SendOptions, "body"> = {}): Opened => {
  const request = httpRequest({
    host: "127.0.0.1",
    port: portOf(url),
    method: method ?? "GET",
    path: path ?? "/",
    agent: agent ?? false,
    ...(headers === undefined ? {} : { headers: headers as OutgoingHttpHeaders }),
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", resolve);
    request.once("error", reject);
  });
  // A caller that closes the connection itself ignores this error.
  response.catch(() => undefined);
  return { request, response };
};

/** The rest of a response; rejects if it breaks off. */
export const replyOf = async (response: IncomingMessage): Promise<Reply> => {
  const body = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>));
  return {
    status: response.statusCode ?? 0,
    reason: response.statusMessage ?? "",
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    trailers: response.trailers,
    body,
    text: body.toString("utf8"),
  };
};

export const send = async (url: string, options: SendOptions = {}): Promise<Reply> => {
  const { request, response } = openRequest(url, options);
  request.end(options.body);
  return replyOf(await response);
};

/** Sends a request and parses the response as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests check responses of any type
export const sendForJson = async (url: string, options: SendOptions = {}): Promise<any> =>
  JSON.parse((await send(url, options)).text);

export interface RawConnection {
  readonly socket: Socket;
  /** All received bytes, after the peer has closed the connection or it has broken. */
  readonly closed: Promise<string>;
  /** Resolves with all received text once it contains this. */
  received(text: string): Promise<string>;
}

/** A connection for raw bytes. */
export const openRaw = (url: string): RawConnection => {
  const socket = connect({ host: "127.0.0.1", port: portOf(url) });
  let received = "";
  const watchers = new Set<() => void>();
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    for (const watch of watchers) watch();
  });
  socket.on("error", () => undefined);
  const closed = new Promise<string>((resolve) => {
    socket.once("close", () => resolve(received));
  });
  return {
    socket,
    closed,
    received: (text) =>
      new Promise((resolve, reject) => {
        const watch = () => {
          if (!received.includes(text)) return;
          watchers.delete(watch);
          resolve(received);
        };
        watchers.add(watch);
        void closed.then(() => reject(new Error(`the connection was closed after: ${received}`)));
        watch();
      }),
  };
};

/** Sends bytes and returns everything received until the peer closes. */
export const sendRaw = (url: string, bytes: string): Promise<string> => {
  const { socket, closed } = openRaw(url);
  socket.write(bytes, "latin1");
  return closed;
};

/** The status codes of all responses in the received bytes. */
export const statusesOf = (received: string): number[] =>
  [...received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map((match) => Number(match[1]));
