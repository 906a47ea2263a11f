/**
 * Matrices that take minutes in total. `PORTSIDE_TEST_ALL=1` tries all of them; otherwise a run tries every nth, from
 * an offset that differs between runs (set `PORTSIDE_SEED` to fix it), so that all are tried over time.
 */
const { PORTSIDE_TEST_ALL: all, PORTSIDE_SEED: seed = String(Date.now()) } = process.env;

/** @param complete whether to return all items; defaults to what `PORTSIDE_TEST_ALL` says */
export const sampled = <T>(items: readonly T[], every: number, complete = all === "1"): readonly T[] =>
  complete ? items : items.filter((_, index) => (index + Number(seed)) % every === 0);
