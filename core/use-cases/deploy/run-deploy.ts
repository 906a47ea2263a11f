/** Runs the phases of a deploy, in its turn and without its client. Every outcome is a record of the stream. */
import type { Principal } from "../../domain/accounts/account.ts";
import type { DeployDeclaration } from "../../domain/deploy/declaration.ts";
import { building, done, failed } from "../../domain/deploy/events.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { Source } from "../../ports/source-spool.ts";
import type { Context } from "../pipeline/context.ts";
import type { Permit } from "../pipeline/keyed-semaphore.ts";
import { bindVolumes } from "./bind-volumes.ts";
import { build } from "./build.ts";
import { discardSource, fetchSource, type LocatedSource } from "./fetch-source.ts";
import { endedEarly } from "./phase.ts";
import { preparePlan } from "./plan.ts";
import { recordOutcome, recordStatus } from "./record-outcome.ts";
import { type RolledOut, rollOut } from "./roll-out.ts";
import type { RunningDeploy } from "./running-deploy.ts";
import { setSchedule } from "./set-schedule.ts";

const BUG = "The control plane met a bug of its own.";

/** Converts an error of the second plan. */
const failureOfError = (error: ControlPlaneError): DeployFailure => {
  switch (error.kind) {
    case "forbidden":
      return { reason: "name_taken", message: error.message };
    case "invalid_input":
      // The request itself was valid. Its issues are about a change of the account or of the service since then.
      return {
        reason: error.issues.some(({ type }) => type === "quota_exceeded") ? "quota_exceeded" : "superseded",
        message: error.message,
      };
    case "unavailable":
      return { reason: "provider_unavailable", message: error.message };
    default:
      return { reason: "internal", message: BUG };
  }
};

/** Waits until the permit is granted, or the deploy is told to end. */
const granted = async (permit: Permit, signal: AbortSignal): Promise<void> => {
  const aborted = Promise.withResolvers<void>();
  if (signal.aborted) aborted.resolve();
  signal.addEventListener("abort", () => aborted.resolve(), { once: true });
  await Promise.race([permit.whenGranted, aborted.promise]);
};

const runPhases = async (
  context: Context,
  run: RunningDeploy,
  principal: Principal,
  declaration: DeployDeclaration,
  located: LocatedSource,
): Promise<RolledOut | DeployFailure> => {
  const { ports, settings, deploys } = context;
  const limits = settings.deployLimits;
  const permit = deploys.builds.acquire(run.owner);
  let source: Source | undefined;
  if (!permit.granted) run.emit(building("Waiting: your account builds as many sources at once as it may"));
  try {
    await granted(permit, run.signal);
    if (run.signal.aborted) return endedEarly(run);
    const plan = await preparePlan(context, principal, declaration, { signal: run.signal });
    if (run.signal.aborted) return endedEarly(run);
    if (plan.isErr()) {
      const { kind, message } = plan.error;
      if (kind === "internal")
        ports.logger.error("a deploy met a bug", { deployId: run.deployId, bug: message, cause: plan.error.cause });
      return failureOfError(plan.error);
    }
    const fetched = await fetchSource(ports, limits, run, located);
    if (!fetched.ok) return fetched.failure;
    source = fetched.value;
    const built = await build(ports, limits, run, source);
    if (!built.ok) return built.failure;
    permit.release();
    const bound = await bindVolumes(ports, run, plan.value);
    if (!bound.ok) return run.signal.aborted ? endedEarly(run) : bound.failure;
    const rolledOut = await rollOut(ports, settings, run, plan.value, { image: built.value, mounts: bound.value });
    if (!rolledOut.ok) return rolledOut.failure;
    const scheduled = await setSchedule(ports, limits, run, plan.value, rolledOut.value);
    return scheduled.ok ? rolledOut.value : scheduled.failure;
  } finally {
    permit.release();
    if (located.kind === "object") await discardSource(context, source);
  }
};

const serving = ({ revision, runner }: RolledOut): string =>
  `Revision ${revision} serves all traffic${runner === undefined ? "" : ` (${runner})`}`;

/** Runs a deploy to its last record. Never throws: a bug ends the deploy with `internal`. */
export const runDeploy = async (
  context: Context,
  run: RunningDeploy,
  principal: Principal,
  declaration: DeployDeclaration,
  located: LocatedSource,
): Promise<void> => {
  const { deploys, ports } = context;
  const permit = deploys.names.acquire(run.name);
  try {
    run.emit(building(`Deploying as '${run.name}'`));
    if (!permit.granted) run.emit(building(`Waiting for an earlier deploy of '${run.name}'`));
    await granted(permit, run.signal);
    // Only in its turn: a platform stores the status of one deploy per name.
    if (!run.signal.aborted) await recordStatus(context, run, building("A deploy began"));
    const outcome = run.signal.aborted
      ? endedEarly(run)
      : await runPhases(context, run, principal, declaration, located);
    await recordOutcome(context, run, "url" in outcome ? done(outcome.url, serving(outcome)) : failed(outcome));
  } catch (cause) {
    ports.logger.error("a deploy met a bug", { deployId: run.deployId, cause });
    const bug = failed({ reason: "internal", message: BUG });
    await recordStatus(context, run, bug).catch(() => undefined);
    if (run.phase !== "ended") run.emit(bug);
  } finally {
    permit.release();
  }
  if (located.kind === "received") await discardSource(context, located.source);
};
