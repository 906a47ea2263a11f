/** The API as commands call it: JSON in and out, refusals in words. */
import type { Account } from "./accounts/account.ts";
import { CommandError } from "./terminal/io.ts";

interface Issue {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/** A refusal by the platform, with its status for those who care. */
export class Refused extends CommandError {
  readonly status: number;
  /** Seconds after which the platform asks to be tried again. */
  readonly retryAfter: number | undefined;
  constructor(status: number, message: string, retryAfter?: number) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** Nothing answered, or the connection broke: it may go well another time. */
export class Unreachable extends CommandError {}

const issueWords = ({ loc, msg }: Issue): string => {
  const field = loc.slice(1).join(".");
  return field === "" ? `  ${msg}` : `  ${field}: ${msg}`;
};

const nextStep: Readonly<Record<number, string>> = {
  401: "Check PORTSIDE_API_KEY, or log in again with 'portside login'.",
  429: "Wait a little and try again.",
  503: "Try again in a moment.",
};

/** The words of a refusal's body. */
export const refusalWords = (status: number, body: unknown): string => {
  const detail = (body as { detail?: unknown } | null)?.detail;
  const said = Array.isArray(detail)
    ? ["The platform refused the request:", ...(detail as Issue[]).map(issueWords)].join("\n")
    : typeof detail === "string"
      ? detail
      : `The platform answered ${status}.`;
  return nextStep[status] === undefined ? said : `${said} ${nextStep[status]}`;
};

/** A response as a refusal in these words, with the time that it says to wait. */
export const refusalIn = (words: string, { status, headers }: Response): Refused => {
  const after = Number(headers.get("retry-after") ?? Number.NaN);
  return new Refused(status, words, Number.isFinite(after) ? after : undefined);
};

/** The refusal that a response is; reads its body. */
const refusalOf = async (response: Response): Promise<Refused> =>
  refusalIn(refusalWords(response.status, await response.json().catch(() => null)), response);

const failedWords = (url: string, error: unknown): string => {
  const { cause: { code, message } = {} } = error as { cause?: { code?: string; message?: string } };
  // https://fetch.spec.whatwg.org/#port-blocking
  if (message === "bad port")
    return `${url}: fetch, as browsers do, refuses to connect to the port ${new URL(url).port}, which belongs to another protocol. Serve on another one.`;
  const cause = code ?? message ?? (error as Error).message;
  return `${url} does not answer (${cause}). Is the platform running? Start one with 'portside serve'.`;
};

export interface CallInit {
  readonly method?: "GET" | "POST";
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: { readonly type: string; readonly length: number; readonly stream: AsyncIterable<Uint8Array> };
  readonly signal?: AbortSignal;
}

export class Client {
  readonly #account: Account;

  constructor(account: Account) {
    this.#account = account;
  }

  /** The response, whatever it is, once its head is here. */
  async open(path: string, init: CallInit = {}): Promise<Response> {
    const headers: Record<string, string> = { "x-api-key": this.#account.apiKey };
    if (init.json !== undefined) headers["content-type"] = "application/json";
    if (init.body !== undefined) {
      headers["content-type"] = init.body.type;
      headers["content-length"] = String(init.body.length);
    }
    const body =
      init.body === undefined ? (init.json === undefined ? undefined : JSON.stringify(init.json)) : init.body.stream;
    const options = {
      method: init.method ?? (body === undefined ? "GET" : "POST"),
      headers,
      ...(body === undefined ? {} : { body, duplex: "half" }),
      ...(init.signal === undefined ? {} : { signal: init.signal }),
    };
    try {
      return await fetch(this.#account.url + path, options as RequestInit);
    } catch (error) {
      if (init.signal?.aborted === true) throw error;
      throw new Unreachable(failedWords(this.#account.url, error));
    }
  }

  /** The JSON of a good answer; throws `Refused` with the platform's words otherwise. */
  async call<T>(path: string, init: CallInit = {}): Promise<T> {
    return (await (await this.expectOk(path, init)).json()) as T;
  }

  /** A response that is not a refusal. */
  async expectOk(path: string, init: CallInit = {}): Promise<Response> {
    const response = await this.open(path, init);
    if (response.ok) return response;
    throw await refusalOf(response);
  }
}

/** The JSON values of a stream of lines, as they come. */
export async function* jsonLines<T>(response: Response): AsyncGenerator<T> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as T;
  }
}
