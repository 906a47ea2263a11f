/** Data that a page loads from the API and refreshes while it is visible. */
import { type ReadonlySignal, type Signal, useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiError } from "../../client/index.ts";

export interface Resource<T> {
  readonly data: ReadonlySignal<T | undefined>;
  readonly error: ReadonlySignal<unknown>;
  /** Loads the data again. */
  readonly reload: () => void;
}

type Load<T> = (signal: AbortSignal) => Promise<T>;

/** The maximum number of retries of a load that the platform rejects with 429. */
const RETRIES = 3;
const RETRY_S = 2;

/** Loads, and retries after a rate limit, because all windows of the console share the limits of the account. */
const loadWithRetries = async <T,>(load: Load<T>, signal: AbortSignal): Promise<T> => {
  for (let retries = 0; ; retries++) {
    try {
      return await load(signal);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 429) || retries === RETRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, (error.retryAfter ?? RETRY_S) * 1000));
      signal.throwIfAborted();
    }
  }
};

const loadInto = async <T,>(
  load: Load<T>,
  data: Signal<T | undefined>,
  error: Signal<unknown>,
  signal: AbortSignal,
) => {
  try {
    const loaded = await loadWithRetries(load, signal);
    if (signal.aborted) return;
    data.value = loaded;
    error.value = undefined;
  } catch (problem) {
    if (!signal.aborted) error.value = problem;
  }
};

/**
 * Loads data, and loads it again every `everyMs` milliseconds while the page is visible.
 * @param key identifies the data; a different key discards the data and loads again
 */
export const useResource = <T,>(key: string, load: Load<T>, everyMs?: number): Resource<T> => {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const round = useSignal(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    data.value = undefined;
    error.value = undefined;
  }, [key]);
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isFirst = true;
    const run = async (): Promise<void> => {
      // A page in a background tab loads once.
      const loads = isFirst || !document.hidden;
      isFirst = false;
      if (loads) await loadInto(latest.current, data, error, controller.signal);
      if (everyMs !== undefined && !controller.signal.aborted) timer = setTimeout(() => void run(), everyMs);
    };
    void run();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [key, round.value]);
  const reload = () => {
    round.value++;
  };
  return { data, error, reload };
};

/** Shows its children after one second, so that fast responses do not flicker. */
export const Delayed = ({ children }: { readonly children: ComponentChildren }) => {
  const shown = useSignal(false);
  useSignalEffect(() => {
    const timer = setTimeout(() => {
      shown.value = true;
    }, 1000);
    return () => clearTimeout(timer);
  });
  return <div aria-live="polite">{shown.value && <p class="waiting">{children}</p>}</div>;
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Shows an error and, if `retry` is set, a button that retries. */
export const Problem = ({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) => (
  <div class="problem" role="alert">
    <p>{messageOf(error)}</p>
    {retry !== undefined && (
      <button type="button" onClick={retry}>
        Retry
      </button>
    )}
  </div>
);

interface LoadedProps<T> {
  readonly resource: Resource<T>;
  /** The message while the data loads, such as `Loading the deployments…`. */
  readonly waiting: string;
  readonly children: (data: T) => ComponentChildren;
}

/** Shows the data of a resource, or its error. If loading takes more than a second, shows `waiting`. */
export const Loaded = <T,>({ resource: { data, error, reload }, waiting, children }: LoadedProps<T>) => (
  <>
    {error.value !== undefined && <Problem error={error.value} retry={reload} />}
    {data.value !== undefined ? children(data.value) : error.value === undefined && <Delayed>{waiting}</Delayed>}
  </>
);
