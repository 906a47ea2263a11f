/** Computes the limits of an installation from the quotas of its cloud. Pure functions. */

export interface CeilingRule {
  /** The limited resource, in the plural. */
  readonly what: string;
  readonly quota: string;
  /** The quota of a new customer, according to the page `source`. */
  readonly initial: number;
  readonly source: string;
  /** The amount of the quota that one resource uses. */
  readonly each: string;
  /** @param others the amount of the quota that other programs use */
  readonly max: (quota: number, others: number) => number;
}

/** Returns a `max` function for resources that each use `one` units of the quota. */
export const per =
  (one: number) =>
  (quota: number): number =>
    Math.floor(quota / one);

export interface Ceiling {
  readonly max: number;
  /** The maximum as text, with the quota that determines it. */
  readonly words: string;
}

/**
 * @param limit the quota; if undefined, the quota of a new customer applies
 * @param origin why the quota of a new customer applies, for the message, such as `assumed`
 */
export const ceilingOf = (
  { quota, initial, max, each }: CeilingRule,
  limit: number | undefined,
  origin: string,
  others = 0,
): Ceiling => {
  const value = max(limit ?? initial, others);
  const words = Number.isFinite(value)
    ? `${value} (${quota}: ${limit ?? initial}${limit === undefined ? `, ${origin}` : ""}; each uses ${each})`
    : `no limit (${quota})`;
  return { max: value, words };
};
