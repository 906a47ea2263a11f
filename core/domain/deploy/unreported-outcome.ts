/** The outcome of a deploy whose server stopped before it recorded the outcome. */
import type { DeployOutcome } from "./events.ts";
import type { Revision } from "./service-template.ts";

/**
 * Returns `DONE` if a revision of the deploy serves, because traffic moves in one step. Otherwise returns `ERROR` with
 * the reason `interrupted`.
 */
export const unreportedOutcome = (
  deployId: string,
  serving: readonly Revision[],
): Pick<DeployOutcome, "status" | "reason"> =>
  serving.some(({ template }) => template.deployId === deployId)
    ? { status: "DONE", reason: null }
    : { status: "ERROR", reason: "interrupted" };
