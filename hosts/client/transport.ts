/** Sends requests with the credential, and throws error responses as exceptions. */
import { apiError, ConnectionError, type NextSteps, nextSteps } from "./errors.ts";

/** The platform and the credential. */
export interface ClientOptions {
  /** The address of the API, such as `https://api.example.com`, with the prefix of an embedded API. */
  readonly url: string;
  /** An API key. Omit it if `token` is set, or if `fetch` adds a credential. */
  readonly key?: string | undefined;
  /** A bearer token. */
  readonly token?: string | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface SendInit {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged. */
  readonly body?: {
    readonly type: string;
    readonly length: number;
    readonly content: Blob | AsyncIterable<Uint8Array>;
  };
  readonly signal?: AbortSignal | undefined;
}

/** Resolves to a successful response once its headers have arrived. */
export type Send = (method: "GET" | "POST", path: string, init?: SendInit) => Promise<Response>;

const connectionErrorMessage = (url: string, error: unknown): string => {
  const { cause: { code, message } = {} } = error as { cause?: { code?: string; message?: string } };
  // https://fetch.spec.whatwg.org/#port-blocking
  if (message === "bad port")
    return `${url}: Node and browsers block the port ${new URL(url).port}, which belongs to another protocol. Use another port.`;
  const cause = code ?? message ?? (error as Error).message;
  return `${url} does not respond (${cause}). Check the URL, or start a platform with 'portside serve'.`;
};

/** @param steps the next steps in error messages */
export const createTransport = (options: ClientOptions, steps: NextSteps = nextSteps): Send => {
  const { key, token, fetch = globalThis.fetch } = options;
  const url = options.url.replace(/\/+$/, "");
  return async (method, path, { json, body: upload, signal } = {}) => {
    const headers: Record<string, string> = {
      ...(key !== undefined && { "x-api-key": key }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { "content-type": "application/json" }),
      // A browser sets the length itself, and ignores this header.
      ...(upload !== undefined && { "content-type": upload.type, "content-length": String(upload.length) }),
    };
    const body = upload?.content ?? (json === undefined ? undefined : JSON.stringify(json));
    const response = await fetch(url + path, { method, headers, body, duplex: "half", signal } as RequestInit).catch(
      (error: unknown) => {
        signal?.throwIfAborted();
        throw new ConnectionError(connectionErrorMessage(url, error), "no_response", error);
      },
    );
    if (response.ok) return response;
    throw apiError(response, await response.json().catch(() => null), steps);
  };
};
