import { createServer } from "node:net";
import { listenAt } from "../../shared/runtime/loopback.ts";

/**
 * Returns a free loopback port. Another program may take the port before the service does, so the caller must check.
 */
export const freePort = async (): Promise<number> => {
  await using server = createServer();
  return await listenAt(server, "127.0.0.1", 0);
};
