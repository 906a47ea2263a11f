/** Decides how many instances to start, and which one gets a request. Pure. `sleep.ts` decides when instances stop. */

export interface PoolLoad {
  /** Requests that wait for a slot. */
  readonly waiting: number;
  /** Instances that are starting. */
  readonly starting: number;
  /** All running instances, including those that accept no more requests. */
  readonly ready: number;
  /** Concurrent requests per instance. */
  readonly concurrency: number;
  /** Maximum number of instances, including starting ones. */
  readonly maxInstances: number;
}

/** Returns how many more instances to start for the waiting requests. */
export const instancesToStart = ({ waiting, starting, ready, concurrency, maxInstances }: PoolLoad): number => {
  const needed = Math.ceil(waiting / concurrency) - starting;
  return Math.max(0, Math.min(needed, maxInstances - ready - starting));
};

/** Older instances get requests first, up to this share of their concurrency, so newer instances can become idle. */
const FILL = 0.6;

/**
 * Returns the index of the instance for the next request, or undefined if all are full.
 * @param active number of requests per instance, oldest instance first
 */
export const chooseInstance = (active: readonly number[], concurrency: number): number | undefined => {
  const fill = Math.max(1, concurrency * FILL);
  let least: number | undefined;
  for (let index = 0; index < active.length; index++) {
    const load = active[index] as number;
    if (load < fill && load < concurrency) return index;
    if (load < concurrency && (least === undefined || load < (active[least] as number))) least = index;
  }
  return least;
};
