/** Multipart forms as bytes, for parts that no well-behaved client sends. */

const BOUNDARY = "portside-test-boundary";

export const formType = `multipart/form-data; boundary=${BOUNDARY}`;

/** A part between two boundaries. */
export type Part = Buffer;

/** A part with these header lines. */
export const part = (head: readonly string[], content: string | Uint8Array = ""): Part =>
  Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), Buffer.from(content)]);

export const field = (name: string, value: string): Part =>
  part([`Content-Disposition: form-data; name="${name}"`], value);

export const file = (name: string, filename: string, content: string | Uint8Array = ""): Part =>
  part(
    [
      `Content-Disposition: form-data; name="${name}"; filename="${filename}"`,
      "Content-Type: application/octet-stream",
    ],
    content,
  );

const opening = Buffer.from(`--${BOUNDARY}\r\n`);
const between = Buffer.from(`\r\n--${BOUNDARY}\r\n`);
const closing = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);

export const formOf = (...parts: readonly Part[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.concat([...parts.flatMap((one, index) => [index === 0 ? opening : between, one]), closing]));

/** The bytes before and after a file's content in a form that begins with these fields; for streamed files. */
export const aroundFile = (fields: Readonly<Record<string, string>>): { before: Buffer; after: Buffer } => {
  const texts = Object.entries(fields).flatMap(([name, value]) => [field(name, value), between]);
  return { before: Buffer.concat([opening, ...texts, file("source_archive", "source.tar.gz")]), after: closing };
};
