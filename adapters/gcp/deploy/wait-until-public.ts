/** Waits until a service is public. Google may reject requests with 403 for some minutes before that. */
import type { Clock } from "../../../core/ports/system.ts";
import { backoff } from "../../cloud/calls/backoff.ts";
import { waitUntilReachable } from "../../cloud/calls/wait-until-reachable.ts";

const REACH_TIMEOUT_MS = 30_000;
/** "typically 2 minutes, potentially 7 minutes or longer": https://cloud.google.com/iam/docs/access-change-propagation */
const PUBLIC_TIMEOUT_MS = 8 * 60_000;
/** Google responds with its 403 immediately. A response that takes longer is from the service. */
const ANSWER_TIMEOUT_MS = 5000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;

/** https://cloud.google.com/run/docs/troubleshooting#unauthorized-client */
const REFUSAL = "Your client does not have permission to get URL";

/** True if the response is Google's 403. A 403 from the service does not count. */
const isRefused = async (url: string): Promise<boolean> => {
  try {
    const response = await fetch(url, {
      redirect: "manual",
      headers: { "user-agent": "portside" },
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    const isGoogles = response.status === 403 && response.headers.get("server") === "Google Frontend";
    if (isGoogles) return (await response.text()).includes(REFUSAL);
    await response.body?.cancel();
    return false;
  } catch {
    // The URL accepts connections, so the service itself responds late or breaks the connection.
    return false;
  }
};

/** Returns undefined once the service is public, or the problem if it does not become public in time. */
export const waitUntilPublic = async (url: string, clock: Clock): Promise<string | undefined> => {
  if (!(await waitUntilReachable(url, REACH_TIMEOUT_MS, clock))) return `${url} does not accept connections`;
  let waited = 0;
  for (const pause of backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS)) {
    if (!(await isRefused(url))) return undefined;
    if (waited >= PUBLIC_TIMEOUT_MS) break;
    await clock.sleep(pause);
    waited += pause;
  }
  return `Google Cloud still denies access to ${url}`;
};
