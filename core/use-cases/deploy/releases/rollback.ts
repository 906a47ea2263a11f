/** The use cases that plan and start a rollback: a rollout of an earlier release, without a build. */
import type { z } from "zod";
import { deploying } from "../../../domain/deploy/events.ts";
import type { DeployPlan } from "../../../domain/deploy/plan.ts";
import type { DeployFailure } from "../../../domain/deploy/reason.ts";
import type { StoredRelease } from "../../../domain/deploy/releases/release.ts";
import {
  declareRelease,
  defaultRollbackTarget,
  describeRollback,
  type PresentVolumes,
  rollbackProblem,
} from "../../../domain/deploy/releases/rollback.ts";
import { restorePins } from "../../../domain/secrets/references.ts";
import type { DeploymentName } from "../../../domain/wire/names.ts";
import { rollbackFields, rollbackPlanFields } from "../../../domain/wire/requests.ts";
import type { rollbackPlanSchema } from "../../../domain/wire/responses.ts";
import { type ControlPlaneError, conflict, invalidInput } from "../../../errors.ts";
import { err, ok, type Result, safeTry } from "../../../result.ts";
import { type Caller, useCase } from "../../pipeline/use-case.ts";
import { storedSecrets } from "../../secrets/pin-secrets.ts";
import { restorableVolumes } from "../../volumes/volumes.ts";
import { applyPlan, findAuthor } from "../apply-plan.ts";
import { ownService } from "../find-name.ts";
import { endedEarly, type PhaseResult, type RunContext } from "../phase.ts";
import { declareContext, failureOfError, planResponseOf, preparePlan, queueProblem } from "../plan.ts";
import type { RolledOut } from "../roll-out.ts";
import type { DeployRun } from "../running-deploy.ts";
import { findReleases, noRelease } from "./find-releases.ts";
import { startUnbuilt } from "./start-unbuilt.ts";

/** The response of a rollback's plan. */
export type RollbackPlanResponse = z.output<typeof rollbackPlanSchema>;

/** The release that a rollback restores, and the changes that it makes. */
interface PreparedRollback {
  readonly target: StoredRelease;
  readonly plan: DeployPlan;
  /** Sentences about what the rollback leaves unchanged. */
  readonly notes: readonly string[];
}

/** The present state does not permit the rollback. */
interface Refused {
  readonly kind: "refused";
  readonly failure: DeployFailure;
}

/** @param number the release to restore; null or undefined for the default */
const chooseTarget = (
  name: DeploymentName,
  releases: readonly StoredRelease[],
  number: number | null | undefined,
): Result<StoredRelease, ControlPlaneError> => {
  if (number == null) {
    const target = defaultRollbackTarget(releases);
    return target === undefined
      ? err(conflict(`The deployment '${name}' has no earlier release to restore. Name a release to restore it again.`))
      : ok(target);
  }
  const target = releases.find(({ release }) => release === number);
  return target === undefined ? err(noRelease(name, number)) : ok(target);
};

/** Reads the volumes that decide whether a release can be restored. A release without mounts needs none. */
const presentVolumes = (caller: Caller, { template }: StoredRelease) =>
  safeTry(async function* () {
    const { context, principal, options } = caller;
    if (template.mounts.length === 0) return ok<PresentVolumes>({ volumes: [], trashed: [] });
    const volumes = yield* await context.ports.provider.volumes.list(principal.account, options);
    const trashed = (yield* await restorableVolumes(caller)).map(({ name }) => name);
    return ok<PresentVolumes>({ volumes, trashed });
  });

const refusedSecret = (message: string): Refused => ({
  kind: "refused",
  failure: { reason: "secret_unavailable", message },
});

/** Chooses the release, and plans its rollout by the present rules. Changes nothing. */
const prepareRollback = (caller: Caller, name: DeploymentName, number: number | null | undefined) =>
  safeTry<PreparedRollback, ControlPlaneError | Refused>(async function* () {
    const service = yield* await ownService(caller, name);
    const target = yield* chooseTarget(name, yield* await findReleases(caller, service), number);
    const present = yield* await presentVolumes(caller, target);
    const failure = rollbackProblem(target, present);
    if (failure !== undefined) return err<never, Refused>({ kind: "refused", failure });
    const { secrets: pinned } = target.template;
    const stored = yield* await storedSecrets(caller, pinned);
    const secrets = yield* restorePins(target.release, pinned, stored).mapErr(refusedSecret);
    const declaration = yield* declareRelease(target, declareContext(caller.context)).mapErr(invalidInput);
    const plan = yield* await preparePlan(caller, declaration, secrets.pins);
    return ok({ target, plan, notes: [...secrets.notes, ...describeRollback(target, present.volumes)] });
  });

/** Prepares a rollback for a client, which sees a refusal as a conflict. */
const prepareForClient = async (caller: Caller, name: DeploymentName, number: number | null | undefined) => {
  const prepared = await prepareRollback(caller, name, number);
  return prepared.mapErr((error) => (error.kind === "refused" ? conflict(error.failure.message) : error));
};

/** Plans a rollback without running it. */
export const planRollback = useCase({
  fields: rollbackPlanFields,
  requires: ({ releases }) => releases,
  authorize: (call) => ownService(call, call.input.name),
  run: async (call) => {
    const prepared = await prepareForClient(call, call.input.name, call.input.release);
    return prepared.map(({ target, plan, notes }): RollbackPlanResponse => {
      const response = planResponseOf(call.context, plan);
      const summary = [`Roll back to release ${target.release}`, ...response.summary, ...notes];
      return { ...response, summary, release: target.release };
    });
  },
});

/** Converts an error of the second preparation. The service or the release was there at the first one. */
const failureOf = (context: RunContext, error: ControlPlaneError | Refused): DeployFailure => {
  if (error.kind === "refused") return error.failure;
  return error.kind === "not_found" ? { reason: "deleted", message: error.message } : failureOfError(context, error);
};

/** Prepares the rollback again, because the state may have changed during the wait, and applies it. */
const runPhases = async (
  context: RunContext,
  number: number,
  message: string | null,
): Promise<PhaseResult<RolledOut>> => {
  const { run, principal } = context;
  const prepared = await prepareRollback({ context, principal, options: { signal: run.signal } }, run.name, number);
  if (run.signal.aborted) return err(endedEarly(run));
  if (prepared.isErr()) return err(failureOf(context, prepared.error));
  const { target, plan, notes } = prepared.value;
  for (const note of notes) run.emit(deploying(note));
  const { sourceDigest, template } = target;
  const origin = { createdBy: await findAuthor(context), message, sourceDigest, rolledBackTo: number };
  return applyPlan(context, plan, { image: template.image, origin });
};

/**
 * Starts a rollback. It does not wait for a running build, whose deploy then ends with `superseded`. Fails only before
 * the stream begins; later failures are records of the stream.
 */
export const rollback = useCase({
  fields: rollbackFields,
  requires: ({ releases }) => releases,
  authorize: (call) => ownService(call, call.input.name),
  run: (call) =>
    safeTry(async function* () {
      const { context, principal, input } = call;
      const { name, message } = input;
      const { target } = yield* await prepareForClient(call, name, input.release);
      const { deploys } = context;
      const full = queueProblem(context, deploys.rollouts, name);
      if (full !== undefined) return err(full);
      const { release } = target;
      const run = startUnbuilt({ context, principal }, name, {
        permit: deploys.rollouts.acquire(name),
        first: deploying(`Rolling back '${name}' to release ${release}`),
        waiting: deploying(`Waiting for a running rollout of '${name}'`),
        began: deploying("A rollback began"),
        phases: (runContext) => runPhases(runContext, release, message ?? null),
      });
      return ok<DeployRun>(run);
    }),
});
