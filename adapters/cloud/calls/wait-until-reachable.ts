/** Waits until a server accepts connections at a URL. */
import { once } from "node:events";
import { connect } from "node:net";
import type { Clock } from "../../../core/ports/system.ts";

const TRY_MS = 5000;
const PAUSE_MS = 500;

const accepts = async ({ hostname, port, protocol }: URL): Promise<boolean> => {
  const host = hostname.replace(/^\[|\]$/g, "");
  const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(TRY_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

/**
 * Returns true as soon as a connection succeeds. Returns false after pauses of `millis` in total, or if the URL is not
 * valid. Retries, because a new host name may take a while to resolve. After an abort, returns within 5 seconds.
 */
export const waitUntilReachable = async (
  url: string,
  millis: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<boolean> => {
  const parsed = URL.parse(url);
  if (parsed === null) return false;
  for (let waited = 0; ; waited += PAUSE_MS) {
    if (await accepts(parsed)) return true;
    if (waited >= millis || signal?.aborted === true) return false;
    await clock.sleep(PAUSE_MS, signal);
  }
};
