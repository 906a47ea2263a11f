/**
 * Deploys an existing release again, with or without changes to its declaration, and without a build. A rollback, a
 * restart and a change of variables are redeploys.
 */

import type { DeclaredVariables } from "../../../domain/deploy/environment.ts";
import { deploying } from "../../../domain/deploy/events.ts";
import type { DeployPlan } from "../../../domain/deploy/plan.ts";
import type { DeployFailure } from "../../../domain/deploy/reason.ts";
import type { ReleaseOrigin, StoredRelease } from "../../../domain/deploy/releases/release.ts";
import {
  type AccountVolumes,
  declaredVariables,
  declareRelease,
  rollbackProblem,
} from "../../../domain/deploy/releases/rollback.ts";
import type { Service } from "../../../domain/deploy/service-template.ts";
import {
  keptPins,
  pinReferences,
  type RestoredPins,
  restorePins,
  type SecretReferences,
} from "../../../domain/secrets/references.ts";
import type { Issue } from "../../../domain/wire/issue.ts";
import type { DeploymentName, SecretName } from "../../../domain/wire/names.ts";
import { type ControlPlaneError, conflict, invalidInput } from "../../../errors.ts";
import { err, ok, type Result, safeTry } from "../../../result.ts";
import type { Permit } from "../../pipeline/keyed-semaphore.ts";
import type { Caller } from "../../pipeline/use-case.ts";
import { storedSecrets } from "../../secrets/pin-secrets.ts";
import { restorableVolumes } from "../../volumes/volumes.ts";
import { applyPlan, findAuthor, inRolloutTurn } from "../apply-plan.ts";
import { ownService } from "../find-name.ts";
import { endedEarly, type PhaseResult, type RunContext } from "../phase.ts";
import { declareContext, failureOfError, preparePlan, queueProblem } from "../plan.ts";
import type { RolledOut } from "../roll-out.ts";
import { runToEnd, type Steps } from "../run-to-end.ts";
import type { DeployRun, RunningDeploy } from "../running-deploy.ts";
import { findReleases } from "./find-releases.ts";

export interface Redeploy {
  readonly name: DeploymentName;
  /** Chooses the release to deploy. Runs again after the wait for a running rollout. */
  readonly choose: (releases: readonly StoredRelease[]) => Result<StoredRelease, ControlPlaneError>;
  /** Returns the variables to declare. Defaults to those of the release. */
  readonly change?: (release: StoredRelease) => Result<DeclaredVariables, readonly Issue[]>;
  /** A secret whose newest version the redeploy uses. References to other secrets keep the versions of the release. */
  readonly renewed?: SecretName;
  /** If true and the plan changes nothing, the redeploy succeeds without a new release. */
  readonly skipsUnchanged?: boolean;
  /** Returns sentences about the data that the redeploy leaves unchanged. Defaults to no sentences. */
  readonly describe?: (release: StoredRelease, volumes: AccountVolumes["volumes"]) => readonly string[];
}

/** The origin that a redeploy's release records, and the texts of the redeploy's stream and log. */
export interface RedeployRecord extends Pick<ReleaseOrigin, "message" | "rolledBackTo"> {
  /** The author of the release. Defaults to the caller. */
  readonly createdBy?: ReleaseOrigin["createdBy"];
  /** The message of the first record. */
  readonly first: string;
  /** The message of the log entry at the start. */
  readonly began: string;
}

/** The release to deploy, and the changes that its deploy makes. */
interface Prepared {
  readonly service: Service;
  readonly target: StoredRelease;
  readonly plan: DeployPlan;
  readonly notes: readonly string[];
}

/** The current state of the image or the volumes does not permit the redeploy. */
interface Refused {
  readonly kind: "refused";
  readonly failure: DeployFailure;
}

/** Reads the volumes that determine whether a release can be deployed. A release without mounts needs no volumes. */
const accountVolumes = (caller: Caller, { template }: StoredRelease) =>
  safeTry(async function* () {
    const { context, principal, options } = caller;
    if (template.mounts.length === 0) return ok<AccountVolumes>({ volumes: [], trashed: [] });
    const volumes = yield* await context.ports.provider.volumes.list(principal.account, options);
    const trashed = (yield* await restorableVolumes(caller)).map(({ name }) => name);
    return ok<AccountVolumes>({ volumes, trashed });
  });

/** Pins the references of a redeploy. Unchanged references keep the release's versions; others get the newest one. */
const pinForRedeploy = (
  caller: Caller,
  { release, template: { secrets: pinned } }: StoredRelease,
  references: SecretReferences,
  renewed: SecretName | undefined,
) =>
  safeTry<RestoredPins, ControlPlaneError | Refused>(async function* () {
    const stored = yield* await storedSecrets(caller, references);
    const kept = keptPins(pinned, references, renewed);
    const { pins, notes } = yield* restorePins(release, kept, stored).mapErr(
      (message): Refused => ({ kind: "refused", failure: { reason: "secret_unavailable", message } }),
    );
    const others = Object.fromEntries(Object.entries(references).filter(([name]) => !Object.hasOwn(kept, name)));
    const fresh = yield* pinReferences(others, stored).mapErr(invalidInput);
    return ok({ pins: { ...pins, ...fresh }, notes });
  });

/** Chooses the release, and plans its rollout by the current rules. Changes nothing. */
const prepare = (caller: Caller, redeploy: Redeploy) =>
  safeTry<Prepared, ControlPlaneError | Refused>(async function* () {
    const { name, choose, change, renewed, describe } = redeploy;
    const service = yield* await ownService(caller, name);
    const releases = yield* await findReleases(caller, service);
    const target = yield* choose(releases);
    const variables = yield* (change?.(target) ?? ok(declaredVariables(target))).mapErr(invalidInput);
    const present = yield* await accountVolumes(caller, target);
    const failure = rollbackProblem(target, present, releases);
    if (failure !== undefined) return err<never, Refused>({ kind: "refused", failure });
    const secrets = yield* await pinForRedeploy(caller, target, variables.secrets, renewed);
    const context = declareContext(caller.context);
    const declaration = yield* declareRelease(target, context, variables).mapErr(invalidInput);
    const plan = yield* await preparePlan(caller, declaration, secrets.pins);
    const notes = [...secrets.notes, ...(describe?.(target, present.volumes) ?? [])];
    return ok({ service, target, plan, notes });
  });

/** Prepares a redeploy for a client. Changes nothing. Reports a refusal as a conflict. */
export const prepareRedeploy = async (caller: Caller, redeploy: Redeploy) => {
  const prepared = await prepare(caller, redeploy);
  return prepared.mapErr((error) => (error.kind === "refused" ? conflict(error.failure.message) : error));
};

/** Converts an error of the second preparation. If it is `not_found`, the service or the release has been deleted. */
const failureOf = (context: RunContext, error: ControlPlaneError | Refused): DeployFailure => {
  if (error.kind === "refused") return error.failure;
  if (error.kind === "not_found") return { reason: "deleted", message: error.message };
  return error.kind === "conflict" ? { reason: "superseded", message: error.message } : failureOfError(context, error);
};

/** Prepares the redeploy again, because the state may have changed during the wait, and applies it. */
const runPhases = async (
  context: RunContext,
  redeploy: Redeploy,
  { createdBy, message, rolledBackTo }: RedeployRecord,
): Promise<PhaseResult<RolledOut>> => {
  const { run, principal } = context;
  const prepared = await prepare({ context, principal, options: { signal: run.signal } }, redeploy);
  if (run.signal.aborted) return err(endedEarly(run));
  if (prepared.isErr()) return err(failureOf(context, prepared.error));
  const { service, target, plan, notes } = prepared.value;
  const [serving] = service.serving;
  if (redeploy.skipsUnchanged && plan.changes.length === 0 && serving !== undefined)
    return ok({ url: service.url, revision: serving.id, cronToken: serving.template.cronToken });
  for (const note of notes) run.emit(deploying(note));
  const { sourceDigest, template } = target;
  const origin = { createdBy: createdBy ?? (await findAuthor(context)), message, sourceDigest, rolledBackTo };
  return applyPlan(context, plan, { image: template.image, origin });
};

const begin = (
  { context, principal }: Pick<Caller, "context" | "principal">,
  { name }: Redeploy,
  { first, began }: RedeployRecord,
  {
    phases,
    ...steps
  }: Pick<Steps, "permit" | "waiting"> & {
    readonly phases: (context: RunContext) => Promise<PhaseResult<RolledOut>>;
  },
): RunningDeploy => {
  const run = context.deploys.begin({ deployId: context.ports.ids.id(), owner: principal.account, name });
  const runContext: RunContext = { ...context, run, principal };
  void runToEnd(runContext, {
    ...steps,
    first: deploying(first),
    began: deploying(began),
    phases: () => phases(runContext),
  }).then(() => run.settle());
  return run;
};

/**
 * Starts a redeploy, which the caller must have prepared. The redeploy does not wait for a running build; the deploy of
 * that build ends with `superseded`. Fails only before the stream begins; later failures are records of the stream.
 */
export const startRedeploy = (
  caller: Caller,
  redeploy: Redeploy,
  record: RedeployRecord,
): Result<DeployRun, ControlPlaneError> => {
  const { rollouts } = caller.context.deploys;
  const full = queueProblem(caller.context, rollouts, redeploy.name);
  if (full !== undefined) return err(full);
  const phases = (context: RunContext) => runPhases(context, redeploy, record);
  const waiting = deploying(`Waiting for a running rollout of '${redeploy.name}'`);
  return ok(begin(caller, redeploy, record, { permit: rollouts.acquire(redeploy.name), waiting, phases }));
};

/** Starts a redeploy that waits for a permit, and then for earlier rollouts of the name. */
export const queueRedeploy = (
  caller: Caller,
  redeploy: Redeploy,
  record: RedeployRecord,
  permit: Permit,
): RunningDeploy => {
  const phases = (context: RunContext) => inRolloutTurn(context, () => runPhases(context, redeploy, record));
  return begin(caller, redeploy, record, { permit, waiting: deploying("Waiting for other deploys"), phases });
};
