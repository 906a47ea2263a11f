/** The number of runs of a property: its default times `PORTSIDE_RUNS` for a longer search. */

const { PORTSIDE_RUNS: factor = "1" } = process.env;

/** The fast-check parameters for a property with this many runs. */
export const runs = (times: number): { readonly numRuns: number } => ({ numRuns: Math.ceil(times * Number(factor)) });

/** The timeout of ordinary runs: longer than any takes on a slow machine, so it only ends a hang. */
const TIMEOUT_MS = 120_000;

/**
 * Milliseconds that a matrix of faults may take. It takes minutes even on an idle machine; the bound only ends a hang.
 */
export const MATRIX_MS = 600_000;

/** Milliseconds that a property may take: the default timeout, scaled for longer searches. */
export const within = (): number => TIMEOUT_MS * Math.max(1, Number(factor));
