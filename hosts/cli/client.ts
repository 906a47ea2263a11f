/**
 * The commands' API client. It sends and receives JSON, and throws error responses as exceptions with readable
 * messages.
 */
import { type Account, findAccount } from "./accounts/account.ts";
import type { Input } from "./command.ts";
import { CommandError, type Io } from "./terminal/io.ts";

interface Issue {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/** An error response of the platform, with its HTTP status. */
export class ApiError extends CommandError {
  readonly status: number;
  /** Seconds to wait before a retry, from Retry-After. */
  readonly retryAfter: number | undefined;
  constructor(status: number, message: string, retryAfter?: number) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** Thrown if the server does not respond or the connection breaks. A retry may succeed. */
export class ConnectionError extends CommandError {}

const formatIssue = ({ loc, msg }: Issue): string => {
  const field = loc.slice(1).join(".");
  return field === "" ? `  ${msg}` : `  ${field}: ${msg}`;
};

const nextStep: Readonly<Record<number, string>> = {
  401: "Check PORTSIDE_API_KEY, or run 'portside login'.",
  429: "Retry in a few seconds.",
  503: "Retry in a few seconds.",
};

/** Formats an error response's body as a message with the next step. */
export const apiErrorMessage = (status: number, body: unknown): string => {
  const detail = (body as { detail?: unknown } | null)?.detail;
  const message = Array.isArray(detail)
    ? ["The request is invalid:", ...(detail as Issue[]).map(formatIssue)].join("\n")
    : typeof detail === "string"
      ? detail
      : `The platform responded with status ${status}.`;
  // Some messages already end with "Try again." or "Try again in a moment."
  const step = / again\b[^.]*\.$/.test(message) ? undefined : nextStep[status];
  return step === undefined ? message : `${message} ${step}`;
};

/** Creates an `ApiError` from a response's status and Retry-After. */
export const createApiError = (words: string, { status, headers }: Response): ApiError => {
  const after = Number(headers.get("retry-after") ?? Number.NaN);
  return new ApiError(status, words, Number.isFinite(after) ? after : undefined);
};

/** Reads an error response's body and returns it as an `ApiError`. */
const readApiError = async (response: Response): Promise<ApiError> =>
  createApiError(apiErrorMessage(response.status, await response.json().catch(() => null)), response);

const connectionErrorMessage = (url: string, error: unknown): string => {
  const { cause: { code, message } = {} } = error as { cause?: { code?: string; message?: string } };
  // https://fetch.spec.whatwg.org/#port-blocking
  if (message === "bad port")
    return `${url}: Node and browsers block the port ${new URL(url).port}, which belongs to another protocol. Use another port.`;
  const cause = code ?? message ?? (error as Error).message;
  return `${url} does not respond (${cause}). Check the URL, or start a platform with 'portside serve'.`;
};

export interface CallInit {
  readonly method?: "GET" | "POST";
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged. */
  readonly body?: { readonly type: string; readonly length: number; readonly stream: AsyncIterable<Uint8Array> };
  readonly signal?: AbortSignal;
}

export class Client {
  readonly #account: Account;

  constructor(account: Account) {
    this.#account = account;
  }

  /** Resolves to the response once its headers have arrived, regardless of its status. */
  async open(path: string, init: CallInit = {}): Promise<Response> {
    const { json, body: upload, signal } = init;
    const headers: Record<string, string> = {
      "x-api-key": this.#account.apiKey,
      ...(json !== undefined && { "content-type": "application/json" }),
      ...(upload !== undefined && { "content-type": upload.type, "content-length": String(upload.length) }),
    };
    const body = upload?.stream ?? (json === undefined ? undefined : JSON.stringify(json));
    const method = init.method ?? (body === undefined ? "GET" : "POST");
    try {
      return await fetch(this.#account.url + path, { method, headers, body, duplex: "half", signal } as RequestInit);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new ConnectionError(connectionErrorMessage(this.#account.url, error));
    }
  }

  /** Returns the JSON of a successful response. Otherwise throws `ApiError` with the platform's message. */
  async call<T>(path: string, init: CallInit = {}): Promise<T> {
    return (await (await this.expectOk(path, init)).json()) as T;
  }

  /** Returns a successful response. Otherwise throws `ApiError`. */
  async expectOk(path: string, init: CallInit = {}): Promise<Response> {
    const response = await this.open(path, init);
    if (response.ok) return response;
    throw await readApiError(response);
  }
}

/** Returns a client for the platform and the key that the flags, variables and saved account select. */
export const clientFor = (input: Input, io: Io): Client => new Client(findAccount(io, input.text("url")));

/** Yields the JSON values of a JSON Lines response as they arrive. */
export async function* jsonLines<T>(response: Response): AsyncGenerator<T> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as T;
  }
}
