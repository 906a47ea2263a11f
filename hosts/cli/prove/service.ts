/** Requests to the deployed service. */
import { type Proof, StepError } from "./proof.ts";
import { TOKEN_HEADER } from "./source.ts";

/** A cold start on a cloud may take this long. */
const TIMEOUT_MS = 60_000;

export interface ServiceAnswer {
  readonly run: string;
  readonly version: number;
  /** The variable that the run changes. */
  readonly value: string;
}

/** Sends one request without retries. Throws a `StepError` if the service does not respond. */
export const requestService = async (
  { io, state, token }: Proof,
  path: string,
  init: { readonly method?: string; readonly body?: string } = {},
): Promise<Response> => {
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    return await fetch(state.url + path, { ...init, headers: { [TOKEN_HEADER]: token }, signal });
  } catch (error) {
    if (io.signal.aborted) throw error;
    const { cause = error } = error as { cause?: unknown };
    const { code, message } = cause as { code?: string; message?: string };
    throw new StepError(`${state.url} does not respond (${code ?? message}).`);
  }
};

const FIRST_CHARS = 200;

/** Sends one request. Returns the response's text. Throws a `StepError` unless the status is 200. */
export const textOfService = async (...request: Parameters<typeof requestService>): Promise<string> => {
  const [{ state }, path] = request;
  const response = await requestService(...request);
  const text = await response.text();
  if (response.status === 200) return text;
  const server = response.headers.get("server");
  throw new StepError(
    `${state.url}${path} responded with status ${response.status}${server === null ? "" : ` (server: ${server})`}: ${text.slice(0, FIRST_CHARS)}`,
  );
};

/** Returns the service's run, version and variable. Throws a `StepError` if another service answers. */
export const askService = async (proof: Proof): Promise<ServiceAnswer> => {
  const text = await textOfService(proof, "/");
  if (!text.startsWith(`{"run":"${proof.run}"`))
    throw new StepError(`Another service responded at ${proof.state.url}: ${text.slice(0, FIRST_CHARS)}`);
  return JSON.parse(text) as ServiceAnswer;
};
