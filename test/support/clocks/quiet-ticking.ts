/** Runs work that waits on a manual clock and makes calls over real connections. */
import { setTimeout as pause } from "node:timers/promises";
import type { ManualClock } from "../../../adapters/memory/index.ts";

const TICK_MS = 200;

/** Advances the clock until the work settles. The clock stands still during calls. */
export const whileTickingQuietly = async <T>(
  clock: ManualClock,
  work: PromiseLike<T>,
  isCalling: () => boolean,
): Promise<T> => {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  work.then(settle, settle);
  while (!settled) {
    await pause(1);
    if (!isCalling()) await clock.advance(TICK_MS);
  }
  return work;
};

/** Counts the calls of clients that have no response yet. */
export const countCalls = () => {
  let inFlight = 0;
  return {
    areInFlight: (): boolean => inFlight > 0,
    watch: (client: { send: unknown }): void => {
      const send = (client.send as (...args: unknown[]) => Promise<unknown>).bind(client);
      const counting = async (...args: unknown[]) => {
        inFlight += 1;
        try {
          return await send(...args);
        } finally {
          inFlight -= 1;
        }
      };
      Object.assign(client, { send: counting });
    },
  };
};
