/**
 * A clock that advances in small steps between the callbacks of this process. On a busy machine it slows down with the
 * process, so work in this process meets its deadlines.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createManualClock } from "../../../adapters/memory/index.ts";
import type { Clock } from "../../../core/ports/system.ts";

/** Milliseconds of the clock per step. A step takes about a millisecond. */
const TICK_MS = 150;

export interface TickingClock extends Clock, Disposable {}

export const createTickingClock = (): TickingClock => {
  const { now, sleep, advance } = createManualClock();
  let isStopped = false;
  const tick = async (): Promise<void> => {
    while (!isStopped) {
      await pause(1);
      await advance(TICK_MS);
    }
  };
  void tick();
  return {
    now,
    sleep,
    [Symbol.dispose]: () => {
      isStopped = true;
    },
  };
};
