/**
 * Rollups: counters for the activity of a deployment within one minute. The sum of rollups, of several minutes or
 * engines, is also a rollup.
 */

/** The length of the period of a stored rollup, in seconds. */
export const ROLLUP_S = 60;

/** The classes of HTTP statuses, in the order of their counters. */
export const statusClasses = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;

/** Each doubling of the latency has this many buckets, so a quantile is at most 19 percent too high. */
const PER_DOUBLING = 4;
/** The last bucket has no upper bound. Its lower bound is more than an hour, which no request exceeds. */
export const LATENCY_BUCKETS = 90;

const OBSERVED = 0;
const INSTANCES = 1;
const MEMORY = 2;
const CPU = 3;
const COLD_STARTS = 4;
const REQUESTS = 5;
const LATENCY = REQUESTS + statusClasses.length;
const SIZE = LATENCY + LATENCY_BUCKETS;

/**
 * Counters of a deployment:
 * - the milliseconds for which the platform observed the deployment
 * - the number of instances, summed over these milliseconds
 * - the memory of all instances in KiB, summed over these milliseconds
 * - the CPU time in milliseconds
 * - the cold starts
 * - the requests by status class
 * - a histogram of the requests' latency
 */
export type Rollup = Float64Array;

export const createRollup = (): Rollup => new Float64Array(SIZE);

/** Returns the histogram bucket of a latency. */
export const latencyBucketOf = (millis: number): number =>
  millis > 1 ? Math.min(LATENCY_BUCKETS - 1, Math.ceil(Math.log2(millis) * PER_DOUBLING)) : 0;

/** Returns the upper bound of a histogram bucket in milliseconds; for the last bucket, its lower bound. */
const boundOf = (bucket: number): number => 2 ** (Math.min(bucket, LATENCY_BUCKETS - 2) / PER_DOUBLING);

const add = (rollup: Rollup, index: number, value: number): void => {
  rollup[index] = (rollup[index] ?? 0) + value;
};

/** Counts a request. Allocates no memory, because it runs for every request. */
export const countRequest = (rollup: Rollup, status: number, millis: number): void => {
  const statusClass = Math.floor(status / 100) - 1;
  if (statusClass >= 0 && statusClass < statusClasses.length) add(rollup, REQUESTS + statusClass, 1);
  add(rollup, LATENCY + latencyBucketOf(millis), 1);
};

/** Counts requests of a status class, without their latencies. */
export const countRequests = (rollup: Rollup, statusClass: (typeof statusClasses)[number], count: number): void =>
  add(rollup, REQUESTS + statusClasses.indexOf(statusClass), count);

/** Counts requests with a latency, without their status classes. */
export const countLatencies = (rollup: Rollup, millis: number, count: number): void =>
  add(rollup, LATENCY + latencyBucketOf(millis), count);

export const countColdStart = (rollup: Rollup, count = 1): void => add(rollup, COLD_STARTS, count);

/** Counts the time for which the platform observed a deployment. */
export const countObserved = (rollup: Rollup, millis: number): void => add(rollup, OBSERVED, Math.round(millis));

/** The resources that an instance used in a period. */
export interface InstanceUse {
  readonly millis: number;
  readonly memoryBytes: number;
  readonly cpuMillis: number;
}

export const countInstance = (rollup: Rollup, { millis, memoryBytes, cpuMillis }: InstanceUse): void => {
  add(rollup, INSTANCES, Math.round(millis));
  add(rollup, MEMORY, Math.round(memoryBytes / 1024) * Math.round(millis));
  add(rollup, CPU, Math.round(cpuMillis));
};

/** Adds the counters of `from` to `to`. */
export const addRollup = (to: Rollup, from: Rollup): void => {
  for (let index = 0; index < SIZE; index++) add(to, index, from[index] ?? 0);
};

export const isEmptyRollup = (rollup: Rollup): boolean => rollup.every((value) => value === 0);

/** Renders the counters that are not 0, as `index:value` pairs. */
export const renderRollup = (rollup: Rollup): string => {
  const pairs: string[] = [];
  rollup.forEach((value, index) => {
    if (value !== 0) pairs.push(`${index}:${value}`);
  });
  return pairs.join(",");
};

/**
 * Adds the counters of a rendered rollup to `to`. Ignores invalid pairs, so that a damaged row does not hide others.
 * Creates no arrays, because a request for metrics reads thousands of rollups.
 */
export const addRendered = (to: Rollup, text: string): void => {
  for (let start = 0; start < text.length; ) {
    const comma = text.indexOf(",", start);
    const end = comma === -1 ? text.length : comma;
    const colon = text.indexOf(":", start);
    const [index, value] = [Number(text.slice(start, colon)), Number(text.slice(colon + 1, end))];
    if (colon > start && colon < end && Number.isInteger(index) && index >= 0 && index < SIZE)
      if (value >= 0 && Number.isFinite(value)) add(to, index, value);
    start = end + 1;
  }
};

export const parseRollup = (text: string): Rollup => {
  const rollup = createRollup();
  addRendered(rollup, text);
  return rollup;
};

/** Returns the milliseconds for which the platform observed the deployment. */
export const observedMillisOf = (rollup: Rollup): number => rollup[OBSERVED] as number;

/**
 * Returns an upper bound of a quantile of the latency, in milliseconds. The histogram does not contain the exact
 * quantile. Returns null without requests.
 * @param quantile from 0 to 1
 */
export const latencyQuantile = (rollup: Rollup, quantile: number): number | null => {
  const histogram = rollup.subarray(LATENCY);
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = Math.max(1, Math.ceil(total * quantile));
  let below = 0;
  const bucket = histogram.findIndex((count) => {
    below += count;
    return below >= rank;
  });
  return boundOf(bucket);
};

/** Returns the number of requests of a status class. */
export const requestsOf = (rollup: Rollup, statusClass: (typeof statusClasses)[number]): number =>
  rollup[REQUESTS + statusClasses.indexOf(statusClass)] as number;

export const coldStartsOf = (rollup: Rollup): number => rollup[COLD_STARTS] as number;

const averageOf = (rollup: Rollup, index: number): number | null => {
  const observed = observedMillisOf(rollup);
  return observed === 0 ? null : (rollup[index] as number) / observed;
};

/** Returns the average number of instances. Returns null if the platform did not observe the deployment. */
export const averageInstances = (rollup: Rollup): number | null => averageOf(rollup, INSTANCES);

/** Returns the average memory of all instances together, in bytes. */
export const averageMemory = (rollup: Rollup): number | null => {
  const kib = averageOf(rollup, MEMORY);
  return kib === null ? null : kib * 1024;
};

/** Returns the average number of vCPUs that all instances together used. */
export const averageCpu = (rollup: Rollup): number | null => averageOf(rollup, CPU);
