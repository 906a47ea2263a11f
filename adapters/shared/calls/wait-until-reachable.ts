/** Checks whether a server accepts connections at a URL. */
import { connect } from "node:net";
import type { Clock } from "../../../core/ports/system.ts";

const TRY_MS = 5000;
const PAUSE_MS = 500;

const accepts = ({ hostname, port, protocol }: URL): Promise<boolean> =>
  new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, "");
    const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80), timeout: TRY_MS });
    const end = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("timeout", () => end(false));
  });

/**
 * Returns true as soon as a connection succeeds, or false after `millis`. Retries, because a new host name may take a
 * while to resolve.
 */
export const reaches = async (url: string, millis: number, clock: Clock): Promise<boolean> => {
  const parsed = URL.parse(url);
  if (parsed === null) return false;
  for (let waited = 0; ; waited += PAUSE_MS) {
    if (await accepts(parsed)) return true;
    if (waited >= millis) return false;
    await clock.sleep(PAUSE_MS);
  }
};
