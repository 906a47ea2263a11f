/** What no provider of this version offers yet, in the words that clients get. */
import { type Capabilities, type Feature, missing } from "../../core/domain/capabilities.ts";

const notYet = (what: string, hint?: string): Feature =>
  missing(`this version of Portside has no ${what} yet${hint === undefined ? "" : `; ${hint}`}`);

export const notYetOffered = {
  volumes: { mounts: notYet("volumes", "deploy with volumes {}"), store: notYet("volumes") },
  source_object: notYet("volumes", "send the source with the request"),
  schedules: notYet("schedules"),
  sql: notYet("SQL"),
  subscription: notYet("billing provider"),
} as const satisfies Record<string, Feature | Record<string, Feature>> & {
  readonly volumes: Capabilities["volumes"];
};
