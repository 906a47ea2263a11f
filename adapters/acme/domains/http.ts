/** HTTP to an authority: bounded in time and size, over TLS. */
import { Agent, request } from "undici";
import { isSafeOrigin } from "../../../core/domain/accounts/safe-origin.ts";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { errAsync, ResultAsync } from "../../../core/result.ts";

/** Authorities respond within seconds, even while they sign. */
const CALL_TIMEOUT_MS = 30_000;

/** A chain of certificates has about 5 KiB. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

export interface AcmeResponse {
  readonly status: number;
  /** Returns a header by its lowercase name, or the first value if the header is repeated. */
  header(name: string): string | undefined;
  readonly text: string;
}

export interface AcmeHttp {
  /**
   * Sends a request. `body` is JSON, or undefined for a request without a body. Fails with `unavailable` if no
   * complete response arrives in time, or if the URL does not use TLS.
   */
  send(
    method: "GET" | "HEAD" | "POST",
    url: string,
    body?: string,
    options?: CallOptions,
  ): ResultAsync<AcmeResponse, Unavailable>;
  close(): Promise<void>;
}

/**
 * Returns the delay that a `Retry-After` header requests (RFC 9110, section 10.2.3), in milliseconds. Returns null if
 * there is no header or if it is malformed.
 */
export const retryAfterOf = (response: AcmeResponse, now: Instant): number | null => {
  const text = response.header("retry-after");
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - millisOf(now));
};

/**
 * @param authority the name of the authority, for messages
 * @param ca the certificates to trust instead of the default ones, in PEM
 */
export const createAcmeHttp = (authority: string, ca: string | undefined): AcmeHttp => {
  const agent = new Agent({
    connect: { timeout: CALL_TIMEOUT_MS, ...(ca === undefined ? {} : { ca }) },
    maxResponseSize: MAX_RESPONSE_BYTES,
  });
  const exchange = async (method: "GET" | "HEAD" | "POST", url: string, body?: string, options?: CallOptions) => {
    const limits = [AbortSignal.timeout(CALL_TIMEOUT_MS), ...(options?.signal === undefined ? [] : [options.signal])];
    const {
      statusCode,
      headers,
      body: content,
    } = await request(url, {
      method,
      dispatcher: agent,
      signal: AbortSignal.any(limits),
      headers: { "user-agent": "portside", ...(body === undefined ? {} : { "content-type": "application/jose+json" }) },
      ...(body === undefined ? {} : { body }),
    });
    const header = (name: string) => {
      const value = headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    return { status: statusCode, header, text: await content.text() };
  };
  return {
    send: (method, url, body, options) =>
      isSafeOrigin(url)
        ? ResultAsync.fromPromise(exchange(method, url, body, options), (cause) =>
            unavailable(
              `The certificate authority ${authority} could not be reached, or did not send a complete response.`,
              60,
              cause,
            ),
          )
        : errAsync(unavailable(`The certificate authority ${authority} uses a URL without TLS.`, 60, url)),
    close: () => agent.close(),
  };
};
