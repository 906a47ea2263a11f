/**
 * Matrices that take minutes as a whole. With `PORTSIDE_TEST_ALL=1` all of them is tried; else every so-manieth, beginning
 * elsewhere at each run (`PORTSIDE_SEED` says where), so that nothing stays untried for long.
 */
const { PORTSIDE_TEST_ALL: all, PORTSIDE_SEED: seed = String(Date.now()) } = process.env;

export const sampled = <T>(items: readonly T[], every: number): readonly T[] =>
  all === "1" ? items : items.filter((_, index) => (index + Number(seed)) % every === 0);
