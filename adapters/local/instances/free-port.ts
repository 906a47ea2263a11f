import { createServer } from "node:net";
import { listenAt, listenOnLoopbacks } from "../../shared/runtime/loopback.ts";

/**
 * Returns a free loopback port. Another program may take the port before the service listens on it. The caller must
 * detect this.
 */
export const freePort = async (): Promise<number> => {
  await using server = createServer();
  const { port, close } = await listenOnLoopbacks(
    "127.0.0.1",
    0,
    (host, free) => listenAt(server, host, free),
    (socket) => socket.destroy(),
  );
  await close();
  return port;
};
