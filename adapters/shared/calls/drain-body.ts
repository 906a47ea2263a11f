/** Drains an unread request body. */
import type { IncomingMessage } from "node:http";

const LINGER_MS = 5000;

/**
 * Discards the rest of a request body after the response, for at most 5 seconds. If the server closed the connection
 * while the client was still sending, TCP would reset the connection, and the client could lose the response.
 */
export const drainBody = (req: IncomingMessage): void => {
  if (req.complete || req.destroyed) return;
  const timer = setTimeout(() => req.destroy(), LINGER_MS);
  req.once("close", () => clearTimeout(timer));
  req.resume();
};
