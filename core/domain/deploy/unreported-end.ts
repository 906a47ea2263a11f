/** How a deploy ended whose server stopped before it could say so. Pure. */
import type { DeployOutcome } from "./events.ts";
import type { Revision } from "./service-template.ts";

/** A platform moves traffic in one step, so a deploy whose revision has traffic was not interrupted. */
export const unsaidEnd = (deployId: string, serving: readonly Revision[]): Pick<DeployOutcome, "status" | "reason"> =>
  serving.some(({ template }) => template.deployId === deployId)
    ? { status: "DONE", reason: null }
    : { status: "ERROR", reason: "interrupted" };
