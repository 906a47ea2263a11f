/**
 * The fake's errors: status, reason and message from https://cloud.google.com/storage/docs/json_api/v1/status-codes.
 */
import { errorBody, RestError } from "../rest-server.ts";

export const failure = (status: number, reason: string, message: string): RestError =>
  new RestError(status, reason, message);

/** A call of the XML API. */
export interface XmlCall {
  readonly verb: string;
  readonly bucket: string;
  readonly object: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Uint8Array | string;
}

export const jsonReply = (value: unknown, status = 200): Reply => ({
  status,
  headers: { "content-type": "application/json; charset=UTF-8" },
  body: JSON.stringify(value),
});

export const jsonFailure = (error: RestError): Reply => jsonReply(errorBody(error), error.status);
