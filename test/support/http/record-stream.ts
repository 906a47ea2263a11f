/** Reads a deploy's stream record by record, while it runs. */
import type { TestApi } from "./api.ts";

export interface RecordStream {
  readonly status: number;
  readonly headers: Headers;
  /** The next record; undefined at the end. */
  // biome-ignore lint/suspicious/noExplicitAny: tests check responses of any type
  next(): Promise<any>;
  /** All remaining records. */
  // biome-ignore lint/suspicious/noExplicitAny: tests check responses of any type
  rest(): Promise<any[]>;
  /** Closes the connection, like a client that disconnects. */
  hangUp(): void;
}

/** Yields the lines of a stream. Throws if it ends within a line. */
export const linesOf = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      yield text.slice(0, end);
      text = text.slice(end + 1);
    }
  }
  if (text !== "") throw new Error(`the stream ended within a record: ${text}`);
};

export const openRecords = async (
  api: TestApi,
  path: string,
  options: { readonly key: string; readonly form?: FormData },
): Promise<RecordStream> => {
  const gone = new AbortController();
  const response = await fetch(api.url + path, {
    method: options.form === undefined ? "GET" : "POST",
    headers: { "x-api-key": options.key },
    signal: gone.signal,
    ...(options.form === undefined ? {} : { body: options.form }),
  });
  // Get the reader now, not at the first record: fetch cancels an unread body when its response is garbage-collected.
  const chunks = (response.body as ReadableStream<Uint8Array>).values();
  const lines = linesOf(chunks);
  const next = async () => {
    const line = await lines.next();
    return line.done === true ? undefined : JSON.parse(line.value);
  };
  return {
    status: response.status,
    headers: response.headers,
    next,
    rest: async () => (await Array.fromAsync(lines)).map((line) => JSON.parse(line)),
    hangUp: () => gone.abort(),
  };
};

export const deployForm = (fields: Readonly<Record<string, string>>, archive?: Uint8Array): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  if (archive !== undefined)
    form.set("source_archive", new Blob([archive as Uint8Array<ArrayBuffer>]), "source.tar.gz");
  return form;
};
