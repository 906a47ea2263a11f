/** The end of a deploy. `portside/client` uses `isFinal` too, so this file imports nothing at run time. */
import type { DeployOutcome, DeployStatus } from "./events.ts";
import type { Revision } from "./service-template.ts";

/** The message of a deploy whose server stopped. */
export const serverStopped = "The server stopped during the deploy. Deploy again.";

/** Returns true for statuses that end a stream. */
export const isFinal = (status: DeployStatus): boolean => status === "DONE" || status === "ERROR";

/**
 * Returns the outcome of a deploy whose server stopped before it recorded the outcome. Traffic moves in one step, so
 * the outcome is `DONE` if a revision of the deploy serves. Otherwise, it is `ERROR` with the reason `interrupted`.
 */
export const unreportedOutcome = (
  deployId: string,
  serving: readonly Revision[],
): Pick<DeployOutcome, "status" | "reason"> =>
  serving.some(({ template }) => template.deployId === deployId)
    ? { status: "DONE", reason: null }
    : { status: "ERROR", reason: "interrupted" };
