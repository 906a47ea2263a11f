/** Requests over cleartext HTTP/2, each in a new session. */
import { type ClientHttp2Stream, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { portOf } from "./clients.ts";

export interface Http2Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly trailers: IncomingHttpHeaders;
}

export interface Http2Opened {
  readonly stream: ClientHttp2Stream;
  /** Rejects if the response breaks off. */
  readonly reply: Promise<Http2Reply>;
}

/** Begins a request; the caller writes and ends its body, if any. */
export const openHttp2 = (url: string, headers: OutgoingHttpHeaders = {}, withBody = false): Http2Opened => {
  const session = connect(`http://127.0.0.1:${portOf(url)}`);
  session.on("error", () => undefined);
  const stream = session.request(headers, { endStream: !withBody });
  const reply = new Promise<Http2Reply>((resolve, reject) => {
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    let text = "";
    let whole = false;
    stream.on("response", (answer) => {
      head = answer;
    });
    stream.on("data", (chunk: Buffer) => {
      text += chunk;
    });
    stream.on("trailers", (sent) => {
      trailers = sent;
    });
    stream.on("end", () => {
      whole = true;
    });
    stream.on("error", reject);
    stream.on("close", () => {
      session.close();
      // Node does not report an error for every reset stream.
      if (whole && stream.rstCode === 0) resolve({ status: Number(head[":status"]), headers: head, text, trailers });
      else reject(new Error(`the stream was reset with ${stream.rstCode} after: ${text}`));
    });
  });
  reply.catch(() => undefined);
  return { stream, reply };
};

export const sendHttp2 = (url: string, headers: OutgoingHttpHeaders = {}, body?: string): Promise<Http2Reply> => {
  const { stream, reply } = openHttp2(url, headers, body !== undefined);
  if (body !== undefined) stream.end(body);
  return reply;
};
