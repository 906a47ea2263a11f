/** Sends requests with the credential, and throws error responses as exceptions. */
import { apiError, ConnectionError, type NextSteps, nextSteps } from "./errors.ts";

/** The platform and the credential. */
export interface ClientOptions {
  /**
   * The address of the API, such as `https://api.example.com`. Includes the prefix if an application embeds the API.
   */
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

const causeOf = (error: unknown): { code?: string; message?: string } =>
  (error as { cause?: { code?: string; message?: string } }).cause ?? {};

const reasonOf = (error: unknown): string => {
  const { code, message } = causeOf(error);
  return code ?? message ?? (error as Error).message;
};

/** The codes of rejected certificates: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const REJECTED_CERTIFICATE = /^(?!ERR_SSL_).*(CERT|LEAF_SIGNATURE)/;

const connectionErrorMessage = (url: string, error: unknown): string => {
  // https://fetch.spec.whatwg.org/#port-blocking
  if (causeOf(error).message === "bad port")
    return `${url}: Node and browsers block the port ${new URL(url).port}, which belongs to another protocol. Use another port.`;
  const { code = "" } = causeOf(error);
  if (code.endsWith("UNRECOGNIZED_NAME"))
    return `The server at ${url} has no certificate for this host name (${code}). Check the URL, or wait until the server has the certificate; its log states the problem.`;
  if (REJECTED_CERTIFICATE.test(code))
    return `The certificate of ${url} is not valid, or its authority is not trusted (${code}). Correct the certificate. If a private authority issued it, set NODE_EXTRA_CA_CERTS to the file with the authority's root certificate.`;
  return `${url} does not respond (${reasonOf(error)}). Check the URL, or start a platform with 'portside serve'.`;
};

/** Reads a JSON body. Throws `ConnectionError` if the connection breaks or the body is not JSON. */
export const readJson = async (response: Response, signal: AbortSignal | undefined): Promise<unknown> => {
  try {
    return await response.json();
  } catch (error) {
    signal?.throwIfAborted();
    const message =
      error instanceof SyntaxError
        ? `${response.url || "The server"} did not respond with JSON. Check the URL, and any proxy in front of the platform.`
        : `The connection broke during the response (${reasonOf(error)}). The request may have succeeded. Check before you retry.`;
    throw new ConnectionError(message, "no_response", error);
  }
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
