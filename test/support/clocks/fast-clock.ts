/** A clock that runs so many times faster than the machine's: deadlines keep their order, and repeats take no time. */

import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import { instantOfMillis } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

export const createFastClock = (times: number): Clock => {
  const system = createSystemClock();
  const start = performance.now();
  const begun = Date.now();
  return {
    now: () => instantOfMillis(begun + (performance.now() - start) * times),
    sleep: (millis, signal) => system.sleep(millis / times, signal),
  };
};
