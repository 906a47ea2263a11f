/** Detects stored times that are too late, because the clock of the machine was ahead and was then corrected. */
import { type Instant, plusMillis } from "../wire/instant.ts";

/** Small corrections of the clock are normal, and must not end a pause. */
const TOLERANCE_MS = 60 * 60_000;

/**
 * Returns whether the clock was ahead when the platform stored a time.
 * @param maxAheadMs the maximum by which the stored time can exceed a correct clock, in milliseconds
 */
export const isFromFastClock = (stored: Instant, maxAheadMs: number, now: Instant): boolean =>
  stored > plusMillis(now, maxAheadMs + TOLERANCE_MS);
