/**
 * Behavior of Cloud Run that its documentation leaves open or describes inconsistently. The adapter first assumes one
 * behavior, and switches to the other if Cloud Run rejects a write.
 */
import type { Logger } from "../../../core/ports/system.ts";
import { codeOf, grpcCodes } from "../call-policy.ts";
import { PROBE_SECONDS } from "./probes.ts";

export interface RunBehavior {
  /** The limit of `failureThreshold` * `periodSeconds` of a startup probe. */
  probeSeconds: number;
  /**
   * The method that makes a service public: disabling its Invoker IAM check, or a role for `allUsers` in its policy.
   * The organization may forbid either. https://docs.cloud.google.com/run/docs/authenticating/public
   */
  publicBy: "disabled_check" | "all_users";
}

export const initialBehavior = (): RunBehavior => ({
  probeSeconds: PROBE_SECONDS.documented,
  publicBy: "disabled_check",
});

const textOf = (error: unknown): string => (error instanceof Error ? error.message : "");

const isRejected = (error: unknown, codes: readonly number[], text: RegExp): boolean =>
  codes.includes(codeOf(error) ?? 0) && text.test(textOf(error));

const { INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION } = grpcCodes;

/**
 * True if the service's identity is not visible to Cloud Run yet: "Permission 'iam.serviceaccounts.actAs' denied on
 * service account [...] (or it may not exist)". https://github.com/GoogleCloudPlatform/cloud-run-mcp/pull/91 lists the
 * codes.
 */
export const isUnknownIdentity = (error: unknown): boolean =>
  isRejected(error, [PERMISSION_DENIED, INVALID_ARGUMENT, NOT_FOUND], /actAs|service ?account/i);

/**
 * Switches to the other behavior if the error of a rejected write contradicts the assumed one. Returns whether it has
 * switched.
 */
export const learnFrom = (behavior: RunBehavior, error: unknown, logger?: Logger): boolean => {
  if (
    behavior.probeSeconds > PROBE_SECONDS.period &&
    isRejected(error, [INVALID_ARGUMENT], /probe|failure_?threshold|period_?seconds/i)
  ) {
    behavior.probeSeconds = PROBE_SECONDS.period;
    logger?.info("Cloud Run limits a startup probe to 240 s in total", { error: textOf(error) });
    return true;
  }
  if (
    behavior.publicBy === "disabled_check" &&
    isRejected(error, [INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION], /invoker/i)
  ) {
    behavior.publicBy = "all_users";
    logger?.info("services become public with a role for allUsers, because the Invoker IAM check cannot be disabled", {
      error: textOf(error),
    });
    return true;
  }
  return false;
};
