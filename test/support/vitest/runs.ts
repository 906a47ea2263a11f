/** How often a property is tried: the number it asks for, times `PORTSIDE_RUNS` where a longer search is wanted. */

const { PORTSIDE_RUNS: factor = "1" } = process.env;

/** The fast-check parameters for a property that is worth this many tries. */
export const runs = (times: number): { readonly numRuns: number } => ({ numRuns: Math.ceil(times * Number(factor)) });

/** No everyday run takes longer, on the busiest machine; it ends what hangs. */
const PATIENCE_MS = 120_000;

/** Milliseconds that a matrix of faults may take. It takes minutes even on an idle machine; the bound only ends what hangs. */
export const MATRIX_MS = 600_000;

/** Milliseconds that a property may take: everybody's patience, as much more for longer searches. */
export const within = (): number => PATIENCE_MS * Math.max(1, Number(factor));
