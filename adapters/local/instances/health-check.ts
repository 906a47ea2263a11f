/** Sends the health check of a service to one of its instances. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect, constants } from "node:http2";
import { type HealthCheck, isHealthyStatus } from "../../../core/domain/deploy/health.ts";
import type { Redactor } from "../../../core/domain/secrets/redact.ts";
import type { Address } from "./listen-state.ts";

/** The result of one check. */
export type HealthResult =
  | { readonly healthy: true }
  /** The problem completes the sentence "The health check GET /healthz …". */
  | { readonly healthy: false; readonly problem: string };

interface Response {
  readonly status: number;
  readonly body: AsyncIterable<Buffer>;
}

/** The maximum number of response characters that a failure's message contains. */
const BODY_CHARS = 1024;
/** In UTF-8, one UTF-16 code unit takes at most three bytes. */
const BYTES_PER_CHAR = 3;
const USER_AGENT = "portside-health";

/** Handles errors that can follow the end of a check, for example because the signal aborts. */
const ignore = (): void => undefined;

/** Reads more than the result contains, so that the redactor sees all of a secret that the truncation splits. */
const readBeginning = async (body: AsyncIterable<Buffer>, redactor: Redactor): Promise<string> => {
  const limit = BODY_CHARS * BYTES_PER_CHAR + redactor.longestBytes;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= limit) break;
  }
  return redactor.redact(Buffer.concat(chunks).toString("utf8"), BODY_CHARS).trim();
};

const judge = async ({ status, body }: Response, redactor: Redactor): Promise<HealthResult> => {
  if (isHealthyStatus(status)) return { healthy: true };
  const text = await readBeginning(body, redactor).catch(() => "");
  return { healthy: false, problem: `responded with status ${status}${text === "" ? "" : `: ${text}`}` };
};

const checkHttp1 = async (
  { host, port }: Address,
  check: HealthCheck,
  signal: AbortSignal,
  redactor: Redactor,
): Promise<HealthResult> => {
  const headers = { "user-agent": USER_AGENT, host: check.host ?? `${host}:${port}`, connection: "close" };
  const sent = request({ host, port, path: check.path, headers, agent: false, signal });
  sent.on("error", ignore).end();
  try {
    const [response] = (await once(sent, "response", { signal })) as [IncomingMessage];
    response.on("error", ignore);
    return await judge({ status: response.statusCode as number, body: response }, redactor);
  } finally {
    sent.destroy();
  }
};

const checkHttp2 = async (
  { host, port }: Address,
  check: HealthCheck,
  signal: AbortSignal,
  redactor: Redactor,
): Promise<HealthResult> => {
  const session = connect(`http://${host}:${port}`).on("error", ignore);
  try {
    await once(session, "connect", { signal });
    const stream = session.request(
      {
        [constants.HTTP2_HEADER_PATH]: check.path,
        [constants.HTTP2_HEADER_AUTHORITY]: check.host ?? `${host}:${port}`,
        [constants.HTTP2_HEADER_USER_AGENT]: USER_AGENT,
      },
      { signal },
    );
    stream.on("error", ignore);
    const [headers] = await once(stream, "response", { signal });
    return await judge({ status: headers[constants.HTTP2_HEADER_STATUS], body: stream }, redactor);
  } finally {
    session.destroy();
  }
};

/**
 * @param useHttp2 whether the service speaks HTTP/2 without TLS
 * @param redactor removes the values of secrets from the response of the service
 */
export const checkHealth = async (
  address: Address,
  check: HealthCheck,
  useHttp2: boolean,
  signal: AbortSignal,
  redactor: Redactor,
): Promise<HealthResult> => {
  const timeout = AbortSignal.timeout(check.timeout * 1000);
  try {
    return await (useHttp2 ? checkHttp2 : checkHttp1)(address, check, AbortSignal.any([timeout, signal]), redactor);
  } catch (error) {
    if (timeout.aborted) return { healthy: false, problem: `did not respond within ${check.timeout} s` };
    if (signal.aborted) return { healthy: false, problem: "did not respond" };
    const { code = "the connection failed" } = error as NodeJS.ErrnoException;
    return { healthy: false, problem: `got no response (${code})` };
  }
};
