/** Whether a service speaks HTTP/2 without TLS (h2c): asked as a client with prior knowledge asks (RFC 9113, section 3.3). */
import { connect } from "node:net";
import type { Address } from "./ready.ts";

const FRAME_HEADER = 9;
const SETTINGS = 4;
const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]),
]);

/** Longer than an answer takes, and short enough for a start that is ended meanwhile. */
const ANSWER_MS = 1000;

export type Http2Answer =
  | "speaks"
  /** It answered something else, or hung up. */
  | "refuses"
  /** It has not answered yet, or only in part. */
  | "silent";

/** Judges the first bytes of an answer: a server begins with a SETTINGS frame of stream 0. Undefined where there are too few. Pure. */
export const judgeHttp2 = (bytes: Buffer): Exclude<Http2Answer, "silent"> | undefined => {
  if (bytes.length < FRAME_HEADER) return undefined;
  const [type, flags] = [bytes[3], bytes[4]];
  return type === SETTINGS && flags === 0 && bytes.readUInt32BE(5) === 0 ? "speaks" : "refuses";
};

export const askHttp2 = ({ host, port }: Address, answerMillis = ANSWER_MS): Promise<Http2Answer> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    let bytes = Buffer.alloc(0);
    const finish = (answer: Http2Answer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // Not the socket's own timer, which begins anew with every byte.
    const timer = setTimeout(() => finish("silent"), answerMillis);
    socket.once("connect", () => socket.write(PREFACE));
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const answer = judgeHttp2(bytes);
      if (answer !== undefined) finish(answer);
    });
    socket.once("end", () => finish("refuses"));
    socket.on("error", () => finish("refuses"));
  });
