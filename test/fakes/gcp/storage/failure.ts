/** How the fake refuses: the status, reason and message of https://cloud.google.com/storage/docs/json_api/v1/status-codes. */
import type { FaultKind } from "../faults.ts";

export class StorageFailure extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export const failure = (status: number, reason: string, message: string): StorageFailure =>
  new StorageFailure(status, reason, message);

/** Undefined: the call goes on; its answer may still be lost. */
export const injected = (kind: FaultKind | undefined): StorageFailure | undefined => {
  switch (kind) {
    case "unavailable":
      return failure(503, "backendError", "Service unavailable (injected).");
    case "permission_denied":
      return failure(403, "forbidden", "The caller does not have this permission (injected).");
    case "resource_exhausted":
      return failure(429, "rateLimitExceeded", "The rate limit was exceeded (injected).");
    case "reply_lost":
    case undefined:
      return undefined;
  }
};

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

/** https://cloud.google.com/storage/docs/json_api/v1/status-codes#errorformat */
export const jsonFailure = ({ status, reason, message }: StorageFailure): Reply =>
  jsonReply({ error: { code: status, message, errors: [{ domain: "global", reason, message }] } }, status);
