/** The two long steps of a deploy, build and rollout, narrated into its run. */

import type { DeployLimits } from "../../domain/accounts/limits.ts";
import { BuildOutput, cleanLine, withoutControls } from "../../domain/deploy/build-output.ts";
import { building, deploying } from "../../domain/deploy/events.ts";
import type { DeployPlan } from "../../domain/deploy/plan.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import type { BoundMount } from "../../domain/volumes/mounts.ts";
import type { BuildEvent } from "../../ports/image-builder.ts";
import type { Ports } from "../../ports/provider.ts";
import type { RolloutEvent } from "../../ports/service-platform.ts";
import type { Source } from "../../ports/source-spool.ts";
import type { Settings } from "../pipeline/context.ts";
import type { Run, Step } from "./run.ts";
import { mountsProblem } from "./volumes-step.ts";
import { type Watched, watchPort } from "./watch-port.ts";

export const fail = (failure: DeployFailure): Step<never> => ({ ok: false, failure });

const endWords = {
  interrupted: "The deploy was cancelled before traffic moved.",
  deleted: "The deployment was deleted while this deploy ran.",
} as const;

const CRON_TOKEN_CHARS = 40;

/** What a rollout leaves behind. */
export interface Rolled {
  readonly url: string;
  readonly revision: string;
  readonly cronToken: string;
}

export const endedEarly = (run: Run): DeployFailure => ({ reason: run.endReason, message: endWords[run.endReason] });

export const minutes = (millis: number): string => (millis < 60_000 ? `${millis / 1000} s` : `${millis / 60_000} min`);

/** What a step that did not end well is called: the deadline, the client's wish, or the port's own reason. */
const failureOf = (
  watched: Watched<{ kind: "failed"; failure: DeployFailure }>,
  run: Run,
  late: Omit<DeployFailure, "logTail">,
  tail: readonly string[],
): DeployFailure => {
  const said = watched.end?.failure;
  const interrupted = said === undefined || said.reason === "interrupted";
  if (watched.timedOut && interrupted) return { ...late, logTail: said?.logTail ?? tail };
  if (run.signal.aborted && interrupted) return endedEarly(run);
  return said ?? { reason: "internal", message: "The provider ended the step without saying how." };
};

export const buildStep = async (
  ports: Ports,
  limits: DeployLimits,
  run: Run,
  source: Source,
): Promise<Step<string>> => {
  const output = new BuildOutput(limits);
  const { owner, name, deployId } = run;
  const watched = await watchPort<BuildEvent>(
    (signal) => ports.provider.builder.build({ owner, name, deployId, source }, { signal }),
    { clock: ports.clock, signal: run.signal, deadline: limits.buildDeadline },
    (message) => {
      const line = output.take(message);
      if (line !== undefined) run.emit(building(line));
    },
  );
  for (const line of output.end()) run.emit(building(line));
  if (watched.end?.kind === "built")
    return run.signal.aborted ? fail(endedEarly(run)) : { ok: true, value: watched.end.image };
  const message = `The build took longer than ${minutes(limits.buildDeadline)} and was ended.`;
  const failure = failureOf({ ...watched, end: watched.end }, run, { reason: "build_timeout", message }, output.tail);
  return fail({
    ...failure,
    message: withoutControls(failure.message),
    ...(failure.logTail === undefined ? {} : { logTail: failure.logTail.map((line) => cleanLine(line, limits)) }),
  });
};

/** Says what was adjusted, then rolls out; the value is the service's URL. */
export const rolloutStep = async (
  ports: Ports,
  { deployLimits: limits, envAliases }: Pick<Settings, "deployLimits" | "envAliases">,
  run: Run,
  plan: DeployPlan,
  made: { readonly image: string; readonly mounts: readonly BoundMount[] },
): Promise<Step<Rolled>> => {
  run.emit(deploying(plan.action === "create" ? `Creating '${run.name}'` : `Updating '${run.name}'`));
  for (const { message } of plan.adjustments) run.emit(deploying(message));
  for (const message of plan.notEnforced) run.emit(deploying(message));
  const cronToken = plan.cronToken ?? ports.ids.secret(CRON_TOKEN_CHARS);
  const aliased = Object.keys(envAliases).length === 0 ? {} : { envAliases };
  const template = { ...plan.spec, ...made, cronToken, ...aliased, deployId: run.deployId };
  const mayServe = () => mountsProblem(ports, run, made.mounts);
  const watched = await watchPort<RolloutEvent>(
    (signal) =>
      ports.provider.services.rollout(
        { template, expected: plan.expected, listenDeadline: limits.listenDeadline, mayServe },
        { signal },
      ),
    { clock: ports.clock, signal: run.signal, deadline: limits.rolloutDeadline },
    (message) => run.emit(deploying(message)),
  );
  if (watched.end?.kind === "ready") return { ok: true, value: { ...watched.end, cronToken } };
  const message = `The rollout took longer than ${minutes(limits.rolloutDeadline)} and was ended; what served before serves still.`;
  return fail(failureOf({ ...watched, end: watched.end }, run, { reason: "rollout_timeout", message }, []));
};
