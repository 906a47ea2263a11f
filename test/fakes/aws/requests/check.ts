/** A check of a permission that IAM makes for a request. Pure. */
import { ACCOUNT, REGION } from "../test-config.ts";

export interface Check {
  readonly action: string;
  /** An ARN; `*` for an action without resource types. */
  readonly resource: string;
  /** The condition keys of the request. */
  readonly context?: Readonly<Record<string, string>>;
}

// biome-ignore lint/suspicious/noExplicitAny: the input of any command
export type Input = any;

export const arn = (service: string, resource: string): string =>
  `arn:aws:${service}:${service === "iam" ? "" : REGION}:${ACCOUNT}:${resource}`;

/** @param action an action that must be allowed on every resource */
export const ask = (
  action: string,
  resources: string | readonly string[] = "*",
  context?: Check["context"],
): readonly Check[] => [resources].flat().map((resource) => ({ action, resource, ...(context && { context }) }));
