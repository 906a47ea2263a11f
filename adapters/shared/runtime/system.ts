/** The system clock and random numbers, as ports of the core. */
import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Clock, Ids } from "../../../core/ports/system.ts";

/**
 * Maximum drift between the wall clock and the monotonic clock. A larger drift means that the wall clock was set or the
 * machine slept. The clocks are then aligned again.
 */
const DRIFT_NANOS = 50_000_000n;

const wallNanos = (): bigint => BigInt(Date.now()) * 1_000_000n;

/** Returns a clock with wall time at the resolution of the monotonic clock. */
export const createSystemClock = (): Clock => {
  let offset = wallNanos() - process.hrtime.bigint();
  return {
    now: () => {
      const fine = process.hrtime.bigint() + offset;
      const wall = wallNanos();
      const drift = fine > wall ? fine - wall : wall - fine;
      if (drift <= DRIFT_NANOS) return fine as Instant;
      offset = wall - process.hrtime.bigint();
      return wall as Instant;
    },
    sleep: async (millis, signal) => {
      if (millis > 0) await setTimeout(millis, undefined, { signal }).catch(() => undefined);
    },
  };
};

/** Random bytes per system call. Batching is faster, because a call takes longer than generating a hundred bytes. */
const POOL_BYTES = 4096;
let pool = Buffer.alloc(0);
let used = 0;

const randomByte = (): number => {
  if (used === pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  const byte = pool[used] as number;
  // Erase used bytes.
  pool[used++] = 0;
  return byte;
};

const randomText = (alphabet: string, length: number): string => {
  // Discard bytes at or above the largest multiple of the alphabet's length, so that all characters are equally likely.
  const fair = 256 - (256 % alphabet.length);
  let text = "";
  while (text.length < length) {
    const byte = randomByte();
    if (byte < fair) text += alphabet[byte % alphabet.length];
  }
  return text;
};

const LOWER = "abcdefghijklmnopqrstuvwxyz0123456789";
const BASE62 = `${LOWER}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

export const randomIds: Ids = {
  id: () => randomText(LOWER, 20),
  secret: (length) => randomText(BASE62, length),
};
