/** Runs a long port call, such as a build or a rollout, to its final event. */
import type { Clock } from "../../ports/system.ts";
import { whenAborted } from "../pipeline/when-aborted.ts";

interface Progress {
  readonly kind: "progress";
  readonly message: string;
}

type FinalEvent<E> = Exclude<E, Progress>;

export interface FinalEventResult<E> {
  /** The final event, or undefined if the port yielded none in time. */
  readonly end: FinalEvent<E> | undefined;
  readonly timedOut: boolean;
}

/** After an abort, a port has this many milliseconds to undo its work and yield its final event. */
const ABORT_MS = 15_000;

/**
 * Consumes the events of `start` until the final one. If the deadline passes or `signal` aborts, aborts the call and
 * waits for its final event, because only the port can tell whether traffic has moved.
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
    await Promise.race([clock.sleep(deadline, over.signal), whenAborted(call.signal)]);
    if (!call.signal.aborted && !over.signal.aborted) {
      timedOut = true;
      stop();
    }
    await clock.sleep(ABORT_MS, over.signal);
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
