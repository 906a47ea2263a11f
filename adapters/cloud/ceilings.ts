/** How much an installation carries, from the quotas of its cloud. Pure. */

export interface CeilingRule {
  /** What the quota limits, in the plural. */
  readonly what: string;
  readonly quota: string;
  /** The quota of a new customer, by the page in `source`. */
  readonly initial: number;
  readonly source: string;
  /** What one takes of the quota. */
  readonly each: string;
  /** `others`: what the quota's other users take. */
  readonly max: (quota: number, others: number) => number;
}

/** Returns a rule's `max` for which one takes `one` of the quota. */
export const per =
  (one: number) =>
  (quota: number): number =>
    Math.floor(quota / one);

export interface Ceiling {
  readonly max: number;
  /** How it follows from the quota. */
  readonly words: string;
}

/**
 * @param limit the quota; undefined if unknown: the ceiling is then that of a new customer
 * @param origin where an unknown quota comes from: `assumed`
 */
export const ceilingOf = (
  { quota, initial, max, each }: CeilingRule,
  limit: number | undefined,
  origin: string,
  others = 0,
): Ceiling => {
  const most = max(limit ?? initial, others);
  const words = Number.isFinite(most)
    ? `${most} (${quota}: ${limit ?? initial}${limit === undefined ? `, ${origin}` : ""}; one takes ${each})`
    : `no limit (${quota})`;
  return { max: most, words };
};
