/** What no provider of this version offers yet, in the words that clients get. */
import { type Feature, missing } from "../../core/domain/capabilities.ts";

const notYet = (what: string): Feature => missing(`this version of Portside has no ${what} yet`);

export const notYetOffered = {
  sql: notYet("SQL"),
  subscription: notYet("billing provider"),
} as const satisfies Record<string, Feature>;
