/**
 * A clock that runs several times faster than the machine's. Deadlines keep their order, and polling takes less time.
 */

import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import { instantOfMillis } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

export const createFastClock = (times: number): Clock => {
  const system = createSystemClock();
  const start = performance.now();
  const startedAt = Date.now();
  return {
    now: () => instantOfMillis(startedAt + (performance.now() - start) * times),
    sleep: (millis, signal) => system.sleep(millis / times, signal),
  };
};
