/** The phases that a deploy and a redeploy share: volumes, rollout and schedule. */
import type { DeployPlan } from "../../domain/deploy/plan.ts";
import { authorOf, type ReleaseAuthor, type ReleaseOrigin } from "../../domain/deploy/releases/release.ts";
import { err } from "../../result.ts";
import { whenAborted } from "../pipeline/when-aborted.ts";
import { bindVolumes } from "./bind-volumes.ts";
import { endedEarly, type PhaseResult, type RunContext } from "./phase.ts";
import { type RolledOut, rollOut } from "./roll-out.ts";
import { setSchedule } from "./set-schedule.ts";

/** Waits for the rollouts of the name that began earlier, then runs `work`. */
export const inRolloutTurn = async <T>({ deploys, run }: RunContext, work: () => Promise<PhaseResult<T>>) => {
  const permit = deploys.rollouts.acquire(run.name);
  try {
    if (!permit.granted) await Promise.race([permit.whenGranted, whenAborted(run.signal)]);
    return run.signal.aborted ? err(endedEarly(run)) : await work();
  } finally {
    permit.release();
  }
};

/** Returns the author of the release that a deploy creates. */
export const findAuthor = async ({ ports, principal }: RunContext): Promise<ReleaseAuthor> => {
  const keys = await ports.identity.keys.list(principal.account);
  // If the keys cannot be read, the release has the author's id but no label.
  return authorOf(principal, keys.unwrapOr([]));
};

/** Creates the missing volumes, rolls out the image and sets the schedule. The caller must hold the rollout permit. */
export const applyPlan = async (
  context: RunContext,
  plan: DeployPlan,
  { image, origin }: { readonly image: string; readonly origin: ReleaseOrigin },
): Promise<PhaseResult<RolledOut>> => {
  const mounts = await bindVolumes(context, plan);
  if (mounts.isErr()) return err(context.run.signal.aborted ? endedEarly(context.run) : mounts.error);
  const rolledOut = await rollOut(context, plan, { image, mounts: mounts.value, origin });
  if (rolledOut.isErr()) return rolledOut;
  const scheduled = await setSchedule(context, plan, rolledOut.value);
  return scheduled.isErr() ? err(scheduled.error) : rolledOut;
};
