/** The storage behind signed URLs, as commands call it: refusals in words, broken connections told from the rest. */
import { ApiError, ConnectionError } from "../../client.ts";
import { formatStorageError, parseStorageError, readStorageError } from "./storage-error.ts";

/** Creates the error for a broken connection. */
export const broken = (error: unknown): ConnectionError => {
  const { cause = error } = error as { cause?: unknown };
  const { code, message } = cause as { code?: string; message?: string };
  return new ConnectionError(`The connection to the storage broke (${code ?? message}).`);
};

/** The response to a GET, whatever it is, once its head is here. */
export const getFromStorage = async (
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> => {
  try {
    return await fetch(url, { headers, signal });
  } catch (error) {
    throw signal.aborted ? error : broken(error);
  }
};

/** The bytes of a response as they come; a connection that breaks is told from what the reader does with them. */
export async function* bytesOf(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  try {
    while (reader !== undefined) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw signal.aborted ? error : broken(error);
      });
      if (done) return;
      yield value;
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

/** Uses a URL that was just granted; once more with another one where the storage takes the first for expired. */
export const withGrant = async <T, R>(ask: () => Promise<T>, use: (grant: T) => Promise<R>): Promise<R> => {
  const grant = await ask();
  try {
    return await use(grant);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
  }
  return use(await ask());
};

/** Throws the storage's error, with its message, unless the status is one of `good`. */
export const expectStatus = async (response: Response, ...good: readonly number[]): Promise<void> => {
  if (!good.includes(response.status)) throw await readStorageError(response);
};

/** Makes an object of parts, whose entity tags these are in order. The storage may fail although it has answered 200. */
export const complete = async (url: string, tags: readonly string[], signal: AbortSignal): Promise<void> => {
  const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
  const body = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
  const response = await fetch(url, { method: "POST", body, signal }).catch((error: unknown) => {
    throw signal.aborted ? error : broken(error);
  });
  await expectStatus(response, 200);
  const error = parseStorageError(await response.text());
  if (error !== undefined)
    throw new ConnectionError(`The storage could not make one object of the parts. ${formatStorageError(error)}`);
};
