/** Sends batches of an engine without the lease to the engine that holds it. */
import { Agent } from "node:http";
import { caller, EngineUnreachable } from "./caller.ts";
import type { InputOf } from "./protocol.ts";

/**
 * Returns a function that sends a batch to the engine that listens at the path. The function returns false if that
 * engine cannot be reached or does not hold the lease. It throws if the engine rejects the batch.
 */
export const batchSender = (path: string) => {
  const call = caller(new Agent({ keepAlive: true }), path);
  return async (batch: InputOf<"push">, signal: AbortSignal): Promise<boolean> => {
    try {
      return (await call("push", batch, { signal })) === true;
    } catch (cause) {
      if (cause instanceof EngineUnreachable || signal.aborted) return false;
      throw cause;
    }
  };
};
