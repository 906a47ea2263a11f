/** The errors of the client. Each message states what is wrong and the next step. */
import type { ErrorKind } from "../../core/errors.ts";
import { statusOfKind } from "../http/error-response.ts";

/** The kind of the platform's error; `no_response` or `stream_lost` for a `ConnectionError`. */
export type ErrorCode = ErrorKind | "no_response" | "stream_lost";

/** A method of the client throws this error if its request fails, and the signal's reason if its signal aborts. */
export class PortsideError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/**
 * Thrown if the server does not respond, the connection breaks, the response is not JSON, or a storage service reports
 * a temporary error. A retry may succeed.
 */
export class ConnectionError extends PortsideError {
  constructor(message: string, code: "no_response" | "stream_lost" = "no_response", cause?: unknown) {
    super(code, message, cause);
  }
}

/** A problem with a field of a request. */
export interface FieldIssue {
  /** The path of the field, such as `volumes./data.name`; empty if the issue concerns the whole request. */
  readonly field: string;
  readonly message: string;
  /** The type of the problem, such as `missing`. docs/reference/errors.md lists the types. */
  readonly type: string;
}

/** An error response of the platform. */
export class ApiError extends PortsideError {
  readonly status: number;
  /** The problems of an invalid request. */
  readonly issues: readonly FieldIssue[];
  /** The next step that the client added to the message; undefined if it added none. */
  readonly nextStep: string | undefined;
  /** Seconds to wait before a retry, from Retry-After. */
  readonly retryAfter: number | undefined;
  constructor(
    status: number,
    message: string,
    more: { issues?: readonly FieldIssue[]; nextStep?: string | undefined; retryAfter?: number | undefined } = {},
  ) {
    super(codeOf(status), message);
    this.status = status;
    this.issues = more.issues ?? [];
    this.nextStep = more.nextStep;
    this.retryAfter = more.retryAfter;
  }

  /** The first field with an issue. */
  get field(): string | undefined {
    return this.issues[0]?.field;
  }
}

const codeOf = (status: number): ErrorKind => {
  const known = Object.entries(statusOfKind).find(([, one]) => one === status)?.[0] as ErrorKind | undefined;
  return known ?? (status >= 500 ? "unavailable" : "invalid_input");
};

/** The next step by status. */
export type NextSteps = Readonly<Record<number, string>>;

/** The next steps of a program that uses the client. */
export const nextSteps: NextSteps = {
  401: "Check the API key.",
  429: "Retry in a few seconds.",
  503: "Retry in a few seconds.",
};

const issueOf = (raw: unknown): FieldIssue => {
  const { loc = [], msg = "", type = "" } = raw as { loc?: (string | number)[]; msg?: string; type?: string };
  return { field: loc.slice(1).join("."), message: msg, type };
};

const lineOf = ({ field, message }: FieldIssue): string => (field === "" ? `  ${message}` : `  ${field}: ${message}`);

/** Creates the error for a response's status, Retry-After, and body. */
export const apiError = ({ status, headers }: Response, body: unknown, steps: NextSteps = nextSteps): ApiError => {
  const detail = (body as { detail?: unknown } | null)?.detail;
  const issues = Array.isArray(detail) ? detail.map(issueOf) : [];
  const message = Array.isArray(detail)
    ? ["The request is invalid:", ...issues.map(lineOf)].join("\n")
    : typeof detail === "string"
      ? detail
      : `The platform responded with status ${status}.`;
  // Some messages already end with "Try again." or "Try again in a moment."
  const nextStep = / again\b[^.]*\.$/.test(message) ? undefined : steps[status];
  const retryAfter = retryAfterOf(headers);
  return new ApiError(status, nextStep === undefined ? message : `${message} ${nextStep}`, {
    issues,
    nextStep,
    retryAfter,
  });
};

/** Returns the seconds in Retry-After; undefined if it is absent or a date. */
export const retryAfterOf = (headers: Headers): number | undefined => {
  const after = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(after) ? after : undefined;
};
