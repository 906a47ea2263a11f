/** Drains an unread request body. */
import type { IncomingMessage } from "node:http";

const LINGER_MS = 5000;

/**
 * Discards what a client still sends after its response, for a limited time. If the connection were closed while the
 * client sends, TCP would reset it and the client would not see the response.
 */
export const drainBody = (req: IncomingMessage): void => {
  if (req.complete || req.destroyed) return;
  const timer = setTimeout(() => req.destroy(), LINGER_MS);
  req.once("close", () => clearTimeout(timer));
  req.resume();
};
