/** Which records end a stream. `portside/client` uses this rule too, so this file imports nothing at run time. */
import type { DeployStatus } from "./events.ts";

/** Returns true for statuses that end a stream. */
export const isFinal = (status: DeployStatus): boolean => status === "DONE" || status === "ERROR";
