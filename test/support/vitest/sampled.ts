/**
 * Matrices that take minutes in total. A run tries every nth case, from an offset that differs between runs (set
 * `PORTSIDE_SEED` to fix it), so that all are tried over time. `PORTSIDE_MATRIX=all` tries all of them: `npm run soak`.
 */
const { PORTSIDE_MATRIX: matrix, PORTSIDE_SEED: seed = String(Date.now()) } = process.env;

export const wholeMatrix = matrix === "all";

export const sampled = <T>(items: readonly T[], every: number): readonly T[] =>
  wholeMatrix ? items : items.filter((_, index) => (index + Number(seed)) % every === 0);
