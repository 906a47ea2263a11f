/** The machine's own clock and randomness behind the core's ports. */
import { randomBytes } from "node:crypto";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Clock, Ids } from "../../../core/ports/system.ts";

/** Beyond this the wall clock was set or the machine slept, and the fine clock is aligned to it again. */
const DRIFT_NANOS = 50_000_000n;

const wallNanos = (): bigint => BigInt(Date.now()) * 1_000_000n;

/** Wall time with the resolution of the monotonic clock. */
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
    sleep: (millis, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true || millis <= 0) return resolve();
        const finish = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", finish);
          resolve();
        };
        const timer = setTimeout(finish, millis);
        signal?.addEventListener("abort", finish);
      }),
  };
};

/** Random bytes are asked for many at a time: a request to the system costs more than a hundred of them. */
const POOL_BYTES = 4096;
let pool = Buffer.alloc(0);
let used = 0;

const randomByte = (): number => {
  if (used === pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  const byte = pool[used] as number;
  // What has been given out is no longer kept.
  pool[used++] = 0;
  return byte;
};

const letters = (alphabet: string, length: number): string => {
  // Bytes at or over the largest multiple of the alphabet's length are thrown away, so that no letter is favoured.
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
  id: () => letters(LOWER, 20),
  secret: (length) => letters(BASE62, length),
};
