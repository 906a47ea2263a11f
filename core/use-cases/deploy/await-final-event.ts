/** Follows a long port call (a build, a rollout) to its end, under a deadline and a way out. */
import type { Clock } from "../../ports/system.ts";

interface Progress {
  readonly kind: "progress";
  readonly message: string;
}

type FinalEvent<E> = Exclude<E, Progress>;

export interface FinalEventResult<E> {
  /** The port's own last word; undefined where it gave none in time. */
  readonly end: FinalEvent<E> | undefined;
  readonly timedOut: boolean;
}

/** After an abort a port has this long to undo what it began and say how it ended. */
const PATIENCE_MS = 15_000;

/**
 * Runs `start` until its final event. When the deadline passes or `signal` aborts, the call is aborted and its last
 * word still waited for, because the port alone knows whether traffic had moved by then.
 */
export const awaitFinalEvent = async <E extends { readonly kind: string }>(
  start: (signal: AbortSignal) => AsyncIterable<E | Progress>,
  watch: { readonly clock: Clock; readonly signal: AbortSignal; readonly deadline: number },
  onProgress: (message: string) => void,
): Promise<FinalEventResult<E>> => {
  const { clock, signal, deadline } = watch;
  const call = new AbortController();
  const over = new AbortController();
  const stop = () => call.abort();
  let timedOut = false;
  const consume = async (): Promise<FinalEvent<E> | undefined> => {
    for await (const event of start(call.signal)) {
      if (event.kind !== "progress") return event as FinalEvent<E>;
      if (!over.signal.aborted) onProgress((event as Progress).message);
    }
    return undefined;
  };
  const expire = async (): Promise<undefined> => {
    const aborted = Promise.withResolvers<void>();
    call.signal.addEventListener("abort", () => aborted.resolve());
    if (call.signal.aborted) aborted.resolve();
    await Promise.race([clock.sleep(deadline, over.signal), aborted.promise]);
    if (!call.signal.aborted && !over.signal.aborted) {
      timedOut = true;
      stop();
    }
    await clock.sleep(PATIENCE_MS, over.signal);
    return undefined;
  };
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    const end = await Promise.race([consume(), expire()]);
    return { end, timedOut };
  } finally {
    over.abort();
    signal.removeEventListener("abort", stop);
  }
};
