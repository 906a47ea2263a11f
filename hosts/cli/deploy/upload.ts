/** A deploy's form as a stream of known length, so that memory use does not depend on the source's size. */
import { randomUUID } from "node:crypto";
import type { CallInit } from "../client.ts";
import type { Packed } from "./pack.ts";

const part = (boundary: string, disposition: string, value: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;

export const formBody = (
  fields: readonly (readonly [string, string])[],
  packed?: Packed,
): NonNullable<CallInit["body"]> => {
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
    yield* packed?.open() ?? [];
    yield tail;
  }
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    length: head.length + (packed?.bytes ?? 0) + tail.length,
    stream: stream(),
  };
};
