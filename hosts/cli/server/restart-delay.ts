/**
 * The delays before restarts of a child process: none after a stable run, and increasing ones while the process keeps
 * ending early.
 */

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 30_000;
/** A process that was ready for longer than this restarts without delay. */
const STABLE_MS = 1000;

/**
 * Returns the number of consecutive processes that ended early.
 * @param readyMs how long the last process was ready
 */
export const countFailures = (failures: number, readyMs: number): number => (readyMs > STABLE_MS ? 0 : failures + 1);

/**
 * Returns the delay before a restart.
 * @param failures the number of consecutive processes that ended early
 */
export const restartDelay = (failures: number): number =>
  failures === 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS);
