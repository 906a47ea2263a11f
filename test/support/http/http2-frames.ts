/** Frames of HTTP/2, for clients that Node's client cannot imitate: https://www.rfc-editor.org/rfc/rfc9113#section-4.1 */

export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7 } as const;
export const ACK = 1;
export const END_STREAM = 1;
export const END_HEADERS = 4;

export const frame = (type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** The first bytes of a client. */
export const clientPreface = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(FRAME.settings, 0, 0),
]);

const field = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);

/** A frame with header fields in their literal form: https://www.rfc-editor.org/rfc/rfc7541#section-6.2.2 */
export const headersFrame = (stream: number, headers: Readonly<Record<string, string>>, flags = 0): Buffer => {
  const fields = Object.entries(headers).map(([name, value]) =>
    Buffer.concat([Buffer.from([0]), field(name), field(value)]),
  );
  return frame(FRAME.headers, END_HEADERS | flags, stream, Buffer.concat(fields));
};

/** @param code such as 0 (`NO_ERROR`), which Node's client sends, or 8 (`CANCEL`) */
export const resetFrame = (stream: number, code: number): Buffer =>
  frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, code]));
