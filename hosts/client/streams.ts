/** Streams of the client, which continue across broken connections. */
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import { isFinal } from "../../core/domain/deploy/outcome.ts";
import { ApiError, ConnectionError } from "./errors.ts";

/** The maximum number of consecutive reconnects without a new record. */
const RECONNECTS = 5;
const RECONNECT_MS = 500;

/** Resolves after `millis` milliseconds, or as soon as the signal aborts. */
export const wait = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, millis);
    if (signal?.aborted === true) done();
    else signal?.addEventListener("abort", done);
  });

/** Returns whether a retry may succeed. Includes the errors of a proxy whose server does not respond. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof ApiError && (error.code === "rate_limited" || error.code === "unavailable"));

/** Returns the pause before a retry: at least `backoffMs`, and at least Retry-After. */
export const retryPause = (error: unknown, backoffMs: number): number => {
  const { retryAfter = 0 } = error instanceof ApiError ? error : {};
  return Math.max(retryAfter * 1000, backoffMs);
};

/** Yields the JSON values of a JSON Lines response as they arrive. */
async function* jsonLines<T>(response: Response): AsyncGenerator<T> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    while (reader !== undefined) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line) as T;
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

/** The position from which a stream continues. */
export interface StreamPosition {
  readonly deploy_id: string;
  /** The `seq` of the last record received. */
  readonly after: number;
}

const streamLost = (position: StreamPosition | undefined, cause: unknown): ConnectionError => {
  const deploy = position === undefined ? "the deploy" : `the deploy '${position.deploy_id}'`;
  return new ConnectionError(
    `Lost the connection to ${deploy}, which may still be running. List the deploys to see how it ended.`,
    "stream_lost",
    cause,
  );
};

/**
 * Yields a deploy's records up to the last one. If the connection breaks, reconnects and continues after the last
 * record received.
 * @param first the first response, with records after `position`
 * @param position undefined for a new deploy, whose id is in its first record
 */
export async function* followRecords(
  resume: (position: StreamPosition) => Promise<Response>,
  first: Response,
  position: StreamPosition | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<DeployEvent> {
  let next: Response | undefined = first;
  let at = position;
  for (let failures = 0; ; ) {
    let cause: unknown;
    try {
      const response: Response = next ?? (await resume(at as StreamPosition));
      for await (const record of jsonLines<DeployEvent>(response)) {
        failures = 0;
        at = { deploy_id: record.deploy_id, after: record.seq };
        yield record;
        if (isFinal(record.status)) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      // A restarted server has no records of the deploy.
      if (error instanceof ApiError && error.status === 404) throw streamLost(at, error);
      if (error instanceof ApiError && !isTemporary(error)) throw error;
      cause = error;
    }
    next = undefined;
    if (at === undefined || failures === RECONNECTS) throw streamLost(at, cause);
    failures++;
    await wait(retryPause(cause, RECONNECT_MS * failures), signal);
  }
}
