/**
 * Deploys an existing release again, with or without changes to its declaration, and without a build. A rollback, a
 * restart and a change of variables are redeploys.
 */
import { deploying } from "../../../domain/deploy/events.ts";
import type { DeployPlan } from "../../../domain/deploy/plan.ts";
import type { DeployFailure } from "../../../domain/deploy/reason.ts";
import type { ReleaseOrigin, StoredRelease } from "../../../domain/deploy/releases/release.ts";
import { declareRelease, type PresentVolumes, rollbackProblem } from "../../../domain/deploy/releases/rollback.ts";
import type { Issue } from "../../../domain/wire/issue.ts";
import type { DeploymentName } from "../../../domain/wire/names.ts";
import { type ControlPlaneError, conflict, invalidInput } from "../../../errors.ts";
import { err, ok, type Result, safeTry } from "../../../result.ts";
import type { Caller } from "../../pipeline/use-case.ts";
import { restorableVolumes } from "../../volumes/volumes.ts";
import { applyPlan, findAuthor } from "../apply-plan.ts";
import { ownService } from "../find-name.ts";
import { endedEarly, type PhaseResult, type RunContext } from "../phase.ts";
import { declareContext, failureOfError, preparePlan, queueProblem } from "../plan.ts";
import type { RolledOut } from "../roll-out.ts";
import { runToEnd } from "../run-to-end.ts";
import type { DeployRun } from "../running-deploy.ts";
import { findReleases } from "./find-releases.ts";

export interface Redeploy {
  readonly name: DeploymentName;
  /** Chooses the release to deploy. Runs again after the wait for a running rollout. */
  readonly choose: (releases: readonly StoredRelease[]) => Result<StoredRelease, ControlPlaneError>;
  /** Returns the release with its changed declaration. Defaults to the release itself. */
  readonly change?: (release: StoredRelease) => Result<StoredRelease, readonly Issue[]>;
  /** Returns sentences about what the redeploy leaves unchanged. Defaults to none. */
  readonly describe?: (release: StoredRelease, volumes: PresentVolumes["volumes"]) => readonly string[];
}

/** What a redeploy records, and the texts of its records. */
export interface RedeployRecord extends Pick<ReleaseOrigin, "message" | "rolledBackTo"> {
  /** The message of the first record. */
  readonly first: string;
  /** The message of the log entry at the start. */
  readonly began: string;
}

/** The release to deploy, and the changes that its deploy makes. */
interface Prepared {
  readonly target: StoredRelease;
  readonly plan: DeployPlan;
  readonly notes: readonly string[];
}

/** The current state of the image or the volumes does not permit the redeploy. */
interface Refused {
  readonly kind: "refused";
  readonly failure: DeployFailure;
}

/** Reads the volumes that determine whether a release can be deployed. A release without mounts needs none. */
const presentVolumes = (caller: Caller, { template }: StoredRelease) =>
  safeTry(async function* () {
    const { context, principal, options } = caller;
    if (template.mounts.length === 0) return ok<PresentVolumes>({ volumes: [], trashed: [] });
    const volumes = yield* await context.ports.provider.volumes.list(principal.account, options);
    const trashed = (yield* await restorableVolumes(caller)).map(({ name }) => name);
    return ok<PresentVolumes>({ volumes, trashed });
  });

/** Chooses the release, and plans its rollout by the current rules. Changes nothing. */
const prepare = (caller: Caller, { name, choose, change = ok, describe }: Redeploy) =>
  safeTry<Prepared, ControlPlaneError | Refused>(async function* () {
    const service = yield* await ownService(caller, name);
    const chosen = yield* choose(yield* await findReleases(caller, service));
    const target = yield* change(chosen).mapErr(invalidInput);
    const present = yield* await presentVolumes(caller, target);
    const failure = rollbackProblem(target, present);
    if (failure !== undefined) return err<never, Refused>({ kind: "refused", failure });
    const declaration = yield* declareRelease(target, declareContext(caller.context)).mapErr(invalidInput);
    const plan = yield* await preparePlan(caller, declaration);
    return ok({ target, plan, notes: describe?.(target, present.volumes) ?? [] });
  });

/** Prepares a redeploy for a client. Changes nothing. Reports a refusal as a conflict. */
export const prepareRedeploy = async (caller: Caller, redeploy: Redeploy) => {
  const prepared = await prepare(caller, redeploy);
  return prepared.mapErr((error) => (error.kind === "refused" ? conflict(error.failure.message) : error));
};

/** Converts an error of the second preparation. If it is `not_found`, the service or the release has been deleted. */
const failureOf = (context: RunContext, error: ControlPlaneError | Refused): DeployFailure => {
  if (error.kind === "refused") return error.failure;
  return error.kind === "not_found" ? { reason: "deleted", message: error.message } : failureOfError(context, error);
};

/** Prepares the redeploy again, because the state may have changed during the wait, and applies it. */
const runPhases = async (
  context: RunContext,
  redeploy: Redeploy,
  { message, rolledBackTo }: RedeployRecord,
): Promise<PhaseResult<RolledOut>> => {
  const { run, principal } = context;
  const prepared = await prepare({ context, principal, options: { signal: run.signal } }, redeploy);
  if (run.signal.aborted) return err(endedEarly(run));
  if (prepared.isErr()) return err(failureOf(context, prepared.error));
  const { target, plan, notes } = prepared.value;
  for (const note of notes) run.emit(deploying(note));
  const { sourceDigest, template } = target;
  const origin = { createdBy: await findAuthor(context), message, sourceDigest, rolledBackTo };
  return applyPlan(context, plan, { image: template.image, origin });
};

/**
 * Starts a redeploy, which the caller must have prepared. It does not wait for a running build; the deploy of that
 * build ends with `superseded`. Fails only before the stream begins; later failures are records of the stream.
 */
export const startRedeploy = (
  { context, principal }: Caller,
  redeploy: Redeploy,
  record: RedeployRecord,
): Result<DeployRun, ControlPlaneError> => {
  const { name } = redeploy;
  const { deploys } = context;
  const full = queueProblem(context, deploys.rollouts, name);
  if (full !== undefined) return err(full);
  const run = deploys.begin({ deployId: context.ports.ids.id(), owner: principal.account, name });
  const runContext: RunContext = { ...context, run, principal };
  void runToEnd(runContext, {
    permit: deploys.rollouts.acquire(name),
    first: deploying(record.first),
    waiting: deploying(`Waiting for a running rollout of '${name}'`),
    began: deploying(record.began),
    phases: () => runPhases(runContext, redeploy, record),
  }).then(() => run.settle());
  return ok(run);
};
