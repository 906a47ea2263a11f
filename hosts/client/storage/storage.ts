/** Calls the storage behind signed URLs. Distinguishes error responses from broken connections. */
import { ApiError, ConnectionError } from "../errors.ts";
import { brokenConnection, formatStorageError, parseStorageError, readStorageError, textOf } from "./storage-error.ts";

/** Resolves to the response once its headers have arrived, regardless of its status. */
export const fetchStorage = (url: string, init: RequestInit & { readonly signal: AbortSignal }): Promise<Response> =>
  fetch(url, init).catch((error: unknown) => {
    throw init.signal.aborted ? error : brokenConnection(error);
  });

/** Yields a response's bytes as they arrive. Throws `ConnectionError` if the connection breaks. */
export async function* bytesOf(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  try {
    while (reader !== undefined) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw signal.aborted ? error : brokenConnection(error);
      });
      if (done) return;
      yield value;
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

/** Calls `use` with a new grant. If the storage responds with 403 (expired), retries once with a second grant. */
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

/** Completes a multipart upload. `tags` are the ETags of the parts, in order. A 200 response may contain an error. */
export const completeUpload = async (url: string, tags: readonly string[], signal: AbortSignal): Promise<void> => {
  const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
  const body = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
  const response = await fetchStorage(url, { method: "POST", body, signal });
  await expectStatus(response, 200);
  const error = parseStorageError(await textOf(response));
  if (error !== undefined)
    throw new ConnectionError(`The storage could not assemble the uploaded parts. ${formatStorageError(error)}`);
};
