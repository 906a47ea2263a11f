/** Checks whether a service speaks HTTP/2 without TLS (h2c) to clients with prior knowledge (RFC 9113, section 3.3). */
import { connect } from "node:net";
import type { Address } from "./listen-state.ts";

const FRAME_HEADER = 9;
const SETTINGS = 4;
const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]),
]);

/** Also bounds how long a cancelled start waits for the probe. */
const ANSWER_TIMEOUT_MS = 1000;

export type Http2ProbeResult =
  | "speaks"
  /** The service sent something other than HTTP/2, or the connection failed or closed. */
  | "refuses"
  /** The service sent nothing, or an incomplete frame header, before the timeout. */
  | "silent";

/**
 * Judges the first bytes of a reply. An HTTP/2 server begins with a SETTINGS frame on stream 0. Returns undefined if
 * the frame's header is incomplete. Pure.
 */
export const judgeHttp2 = (bytes: Buffer): Exclude<Http2ProbeResult, "silent"> | undefined => {
  if (bytes.length < FRAME_HEADER) return undefined;
  const [type, flags] = [bytes[3], bytes[4]];
  return type === SETTINGS && flags === 0 && bytes.readUInt32BE(5) === 0 ? "speaks" : "refuses";
};

export const probeHttp2 = ({ host, port }: Address, timeoutMs = ANSWER_TIMEOUT_MS): Promise<Http2ProbeResult> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    let bytes = Buffer.alloc(0);
    const finish = (answer: Http2ProbeResult) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // `socket.setTimeout` would restart with every byte.
    const timer = setTimeout(() => finish("silent"), timeoutMs);
    socket.once("connect", () => socket.write(PREFACE));
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const answer = judgeHttp2(bytes);
      if (answer !== undefined) finish(answer);
    });
    socket.once("end", () => finish("refuses"));
    socket.on("error", () => finish("refuses"));
  });
