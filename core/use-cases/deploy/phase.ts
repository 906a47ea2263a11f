/** The context and the result of a deploy's phases, and the failures that all phases share. */
import type { Principal } from "../../domain/accounts/account.ts";
import type { DeployDeclaration } from "../../domain/deploy/declaration.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { Source } from "../../ports/source-spool.ts";
import type { Result, ResultAsync } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import type { FinalEventResult } from "./await-final-event.ts";
import type { RunningDeploy } from "./running-deploy.ts";

export type LocatedSource =
  | { readonly kind: "received"; readonly source: Source }
  | {
      readonly kind: "object";
      /** `VOLUME/PATH`. */
      readonly reference: string;
      open(): ResultAsync<AsyncIterable<Uint8Array>, ControlPlaneError>;
    };

/** The context of the phases that a deploy and a redeploy share. */
export interface RunContext extends Context {
  readonly run: RunningDeploy;
  readonly principal: Principal;
}

export interface DeployContext extends RunContext {
  readonly declaration: DeployDeclaration;
  readonly located: LocatedSource;
}

export const BUG = "The control plane failed because of a bug.";

export type PhaseResult<T> = Result<T, DeployFailure>;

const endMessages = {
  interrupted: "The deploy was cancelled, or its server stopped, before traffic moved. Deploy again.",
  deleted: "The deployment was deleted while this deploy ran. Deploy again if it should exist.",
} as const;

/** Returns the failure of a deploy whose signal has aborted. */
export const endedEarly = ({ endReason: reason }: RunningDeploy): DeployFailure => ({
  reason,
  message: endMessages[reason],
});

export const formatDuration = (millis: number): string =>
  millis < 60_000 ? `${millis / 1000} s` : `${millis / 60_000} min`;

/** Returns the failure of a port call: the port's own failure, a missed deadline, or the early end of the deploy. */
export const failureOf = (
  { end, timedOut }: FinalEventResult<{ kind: "failed"; failure: DeployFailure }>,
  run: RunningDeploy,
  timeout: Omit<DeployFailure, "logTail">,
  tail: readonly string[],
): DeployFailure => {
  const failure = end?.failure;
  const interrupted = failure === undefined || failure.reason === "interrupted";
  if (timedOut && interrupted) return { ...timeout, logTail: failure?.logTail ?? tail };
  if (run.signal.aborted && interrupted) return endedEarly(run);
  return failure ?? { reason: "internal", message: "The provider ended the step without a result." };
};
