/** The rollout phase: starts the new revision and moves the traffic to it. */
import { deploying } from "../../domain/deploy/events.ts";
import type { DeployPlan } from "../../domain/deploy/plan.ts";
import type { ReleaseOrigin } from "../../domain/deploy/releases/release.ts";
import type { BoundMount } from "../../domain/volumes/mounts.ts";
import type { RolloutEvent } from "../../ports/service-platform.ts";
import { err, ok } from "../../result.ts";
import { checkSecrets } from "../secrets/pin-secrets.ts";
import { awaitFinalEvent } from "./await-final-event.ts";
import { checkMounts } from "./bind-volumes.ts";
import { failureOf, formatDuration, type PhaseResult, type RunContext } from "./phase.ts";

const CRON_TOKEN_CHARS = 40;

/** The image and the mounts of a rollout, and the origin of its release. */
export interface Rollout {
  readonly image: string;
  readonly mounts: readonly BoundMount[];
  readonly origin: ReleaseOrigin;
}

export interface RolledOut {
  readonly url: string;
  readonly revision: string;
  /** The runner of the service. Absent on platforms with a single runner. */
  readonly runner?: string;
  readonly cronToken: string;
}

export const rollOut = async (
  deploy: RunContext,
  plan: DeployPlan,
  { origin, ...built }: Rollout,
): Promise<PhaseResult<RolledOut>> => {
  const { ports, run } = deploy;
  const { deployLimits: limits, envAliases } = deploy.settings;
  run.emit(deploying(plan.action === "create" ? `Creating '${run.name}'` : `Updating '${run.name}'`));
  for (const { message } of plan.adjustments) run.emit(deploying(message));
  for (const message of plan.notEnforced) run.emit(deploying(message));
  const cronToken = plan.cronToken ?? ports.ids.secret(CRON_TOKEN_CHARS);
  const aliased = Object.keys(envAliases).length === 0 ? {} : { envAliases };
  const template = { ...plan.spec, ...built, cronToken, ...aliased, deployId: run.deployId };
  const mayServe = async () => (await checkMounts(deploy, built.mounts)) ?? checkSecrets(deploy, plan.spec.secrets);
  const { end, timedOut } = await awaitFinalEvent<RolloutEvent>(
    (signal) =>
      ports.provider.services.rollout(
        { template, expected: plan.expected, origin, listenDeadlineMs: limits.listenDeadlineMs, mayServe },
        { signal },
      ),
    { clock: ports.clock, signal: run.signal, deadline: limits.rolloutDeadlineMs },
    (message) => run.emit(deploying(message)),
  );
  if (end?.kind === "ready") return ok({ ...end, cronToken });
  // Without a final event, traffic may have moved.
  const serving =
    end === undefined
      ? `Run 'portside status ${run.name}' to see which revision serves.`
      : "The previous revision, if any, still serves.";
  const message = `The rollout took longer than ${formatDuration(limits.rolloutDeadlineMs)} and was stopped. ${serving}`;
  return err(failureOf({ end, timedOut }, run, { reason: "rollout_timeout", message }, []));
};
