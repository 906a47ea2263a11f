/** A deploy's form as a stream of known length: a large source needs no memory, and the upload can show progress. */
import { randomUUID } from "node:crypto";
import type { Packed } from "./pack.ts";

export interface FormBody {
  readonly type: string;
  readonly length: number;
  readonly stream: AsyncIterable<Uint8Array>;
}

const part = (boundary: string, disposition: string, value: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;

/** @param onSent called with the number of archive bytes sent so far */
export const formBody = (
  fields: readonly (readonly [string, string])[],
  packed: Packed | undefined,
  onSent: (bytes: number) => void,
): FormBody => {
  const boundary = `portside-${randomUUID()}`;
  const encoder = new TextEncoder();
  const texts = fields.map(([name, value]) => part(boundary, `name="${name}"`, value)).join("");
  const fileHead =
    packed === undefined
      ? ""
      : `--${boundary}\r\nContent-Disposition: form-data; name="source_archive"; filename="source.tar.gz"\r\nContent-Type: application/gzip\r\n\r\n`;
  const head = encoder.encode(texts + fileHead);
  const tail = encoder.encode(`${packed === undefined ? "" : "\r\n"}--${boundary}--\r\n`);
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield head;
    let sent = 0;
    for await (const chunk of packed?.open() ?? []) {
      yield chunk;
      sent += chunk.length;
      onSent(sent);
    }
    yield tail;
  }
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    length: head.length + (packed?.bytes ?? 0) + tail.length,
    stream: stream(),
  };
};
