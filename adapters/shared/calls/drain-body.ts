/** What becomes of a request's body that nobody wants. */
import type { IncomingMessage } from "node:http";

const LINGER_MS = 5000;

/**
 * Reads and drops what a client still sends after its answer, for a while: a connection that is closed on a client
 * that sends is reset, and the client never sees the answer.
 */
export const readOn = (req: IncomingMessage): void => {
  if (req.complete || req.destroyed) return;
  const timer = setTimeout(() => req.destroy(), LINGER_MS);
  req.once("close", () => clearTimeout(timer));
  req.resume();
};
