/** Starts a run that rolls out an existing image: a rollback, or a release with a changed declaration. */
import type { DeploymentName } from "../../../domain/wire/names.ts";
import type { Caller } from "../../pipeline/use-case.ts";
import type { PhaseResult, RunContext } from "../phase.ts";
import type { RolledOut } from "../roll-out.ts";
import { runToEnd, type Steps } from "../run-to-end.ts";
import type { RunningDeploy } from "../running-deploy.ts";

/** The steps of a run, whose phases receive the run's context. */
export interface UnbuiltSteps extends Omit<Steps, "phases"> {
  readonly phases: (context: RunContext) => Promise<PhaseResult<RolledOut>>;
}

/** Returns the run immediately. It continues if its client disconnects. */
export const startUnbuilt = (
  { context, principal }: Pick<Caller, "context" | "principal">,
  name: DeploymentName,
  { phases, ...steps }: UnbuiltSteps,
): RunningDeploy => {
  const run = context.deploys.begin({ deployId: context.ports.ids.id(), owner: principal.account, name });
  const runContext: RunContext = { ...context, run, principal };
  void runToEnd(runContext, { ...steps, phases: () => phases(runContext) }).then(() => run.settle());
  return run;
};
