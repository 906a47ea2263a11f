/** Converts errors of the embedding application, such as a rate limiter's 429, to responses with the same status. */
import { STATUS_CODES } from "node:http";
import type { ErrorResponse } from "./error-response.ts";

const isErrorStatus = (status: unknown): status is number =>
  Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const textValues = (headers: unknown): Record<string, string> =>
  isRecord(headers) ? Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])) : {};

/**
 * Reads the status in Fastify's order: `statusCode`, `status`, then the status of the reply. Returns undefined if none
 * of them is an error status or if the status is 500, which the plugin handles as a bug. The response omits messages
 * of 5xx errors, because they may contain internal details of the server.
 */
export const hostErrorResponse = (
  error: unknown,
  replyStatus: number,
  requestId: string,
): ErrorResponse | undefined => {
  const { statusCode, status: ownStatus, message, headers }: Record<string, unknown> = isRecord(error) ? error : {};
  const status = [statusCode, ownStatus, replyStatus].find(isErrorStatus);
  if (status === undefined || status === 500) return undefined;
  const reason = STATUS_CODES[status] ?? "Rejected";
  const detail =
    status >= 500
      ? `${reason}. The request id is ${requestId}.`
      : typeof message === "string" && message !== ""
        ? message
        : reason;
  return { status, headers: textValues(headers), body: { detail } };
};
