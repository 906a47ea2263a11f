/** A deploy's form with a known length, so that memory use does not depend on the size of the source. */
import type { SendInit } from "./transport.ts";

/** The source of a deploy as a tar.gz. A stream needs Node; a browser sends a `Blob` or bytes. */
export type Source =
  | Blob
  | Uint8Array<ArrayBuffer>
  | { readonly size: number; readonly stream: () => AsyncIterable<Uint8Array> };

const part = (boundary: string, disposition: string, value: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;

async function* joined(
  head: Uint8Array,
  content: AsyncIterable<Uint8Array>,
  tail: Uint8Array,
): AsyncGenerator<Uint8Array> {
  yield head;
  yield* content;
  yield tail;
}

const blobOf = (source: Exclude<Source, { readonly stream: () => AsyncIterable<Uint8Array> }> | Blob): Blob =>
  source instanceof Blob ? source : new Blob([source]);

/** Returns the form. Sends fields that are not text as JSON, and omits undefined fields. */
export const formBody = (
  fields: Readonly<Record<string, unknown>>,
  source: Source | undefined,
): NonNullable<SendInit["body"]> => {
  const boundary = `portside-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("")}`;
  const encoder = new TextEncoder();
  const texts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) =>
      part(boundary, `name="${name}"`, typeof value === "string" ? value : JSON.stringify(value)),
    );
  const fileHead =
    source === undefined
      ? ""
      : `--${boundary}\r\nContent-Disposition: form-data; name="source_archive"; filename="source.tar.gz"\r\nContent-Type: application/gzip\r\n\r\n`;
  const head = encoder.encode(texts.join("") + fileHead);
  const tail = encoder.encode(`${source === undefined ? "" : "\r\n"}--${boundary}--\r\n`);
  const type = `multipart/form-data; boundary=${boundary}`;
  if (source !== undefined && !(source instanceof Blob) && "stream" in source)
    return { type, length: head.length + source.size + tail.length, content: joined(head, source.stream(), tail) };
  const content = new Blob([head, ...(source === undefined ? [] : [blobOf(source)]), tail]);
  return { type, length: content.size, content };
};
