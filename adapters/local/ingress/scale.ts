/** When an instance is started, and which one gets a request. Pure. */

export interface Load {
  /** Requests that wait for a place. */
  readonly waiting: number;
  /** Instances that are on their way. */
  readonly starting: number;
  /** Instances that take requests. */
  readonly ready: number;
  /** Requests at once in one instance. */
  readonly concurrency: number;
  /** Most instances, those on their way included. */
  readonly most: number;
}

/** How many instances to start now: enough for those who wait, beyond what is on its way already. */
export const instancesToStart = ({ waiting, starting, ready, concurrency, most }: Load): number => {
  const needed = Math.ceil(waiting / concurrency) - starting;
  return Math.max(0, Math.min(needed, most - ready - starting));
};

/** Below this share of its concurrency an older instance is filled first, so that spare ones can become idle. */
const FILL = 0.6;

/**
 * The index of the instance that gets the next request, or undefined where all are full.
 * @param active the requests in each instance, oldest instance first
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
