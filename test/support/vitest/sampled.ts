/**
 * Matrices that take minutes in total. `PORTSIDE_TEST_ALL=1` tries all of them; otherwise a run tries every nth, from
 * an offset that differs between runs (set `PORTSIDE_SEED` to fix it), so that all are tried over time.
 */
const { PORTSIDE_TEST_ALL: all, PORTSIDE_SEED: seed = String(Date.now()) } = process.env;

export const sampled = <T>(items: readonly T[], every: number): readonly T[] =>
  all === "1" ? items : items.filter((_, index) => (index + Number(seed)) % every === 0);
