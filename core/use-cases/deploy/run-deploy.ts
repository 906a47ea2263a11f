/** Runs the phases of a deploy, independently of the client. Every outcome is a record of the stream. */
import { building, type DeployUpdate, done, failed } from "../../domain/deploy/events.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { Source } from "../../ports/source-spool.ts";
import { err } from "../../result.ts";
import { whenAborted } from "../pipeline/when-aborted.ts";
import { bindVolumes } from "./bind-volumes.ts";
import { build } from "./build.ts";
import { discardSource, fetchSource } from "./fetch-source.ts";
import { type DeployContext, endedEarly, type PhaseResult } from "./phase.ts";
import { preparePlan } from "./plan.ts";
import { recordOutcome, recordStatus } from "./record-outcome.ts";
import { type RolledOut, rollOut } from "./roll-out.ts";
import { setSchedule } from "./set-schedule.ts";

const BUG = "The control plane failed because of a bug.";

/** Converts an error of the second plan, which a deploy computes after it has waited for its turn. */
const failureOfError = (error: ControlPlaneError): DeployFailure => {
  switch (error.kind) {
    case "forbidden":
      return { reason: "name_taken", message: error.message };
    case "invalid_input":
      // The request was valid when it arrived, so the issues result from a later change to the account or the
      // service.
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

const runPhases = async (deploy: DeployContext): Promise<PhaseResult<RolledOut>> => {
  const { ports, deploys, run, principal, declaration, located } = deploy;
  const permit = deploys.builds.acquire(run.owner);
  let source: Source | undefined;
  if (!permit.granted) run.emit(building("Waiting for another build of your account"));
  try {
    await Promise.race([permit.whenGranted, whenAborted(run.signal)]);
    if (run.signal.aborted) return err(endedEarly(run));
    const plan = await preparePlan({ context: deploy, principal, options: { signal: run.signal } }, declaration);
    if (run.signal.aborted) return err(endedEarly(run));
    if (plan.isErr()) {
      const { kind, message: bug } = plan.error;
      const { deployId } = run;
      if (kind === "internal")
        ports.logger.error("a deploy failed with a bug", { deployId, bug, cause: plan.error.cause });
      return err(failureOfError(plan.error));
    }
    const fetched = await fetchSource(deploy);
    if (fetched.isErr()) return err(fetched.error);
    source = fetched.value;
    const image = await build(deploy, source);
    if (image.isErr()) return err(image.error);
    permit.release();
    const mounts = await bindVolumes(deploy, plan.value);
    if (mounts.isErr()) return err(run.signal.aborted ? endedEarly(run) : mounts.error);
    const rolledOut = await rollOut(deploy, plan.value, { image: image.value, mounts: mounts.value });
    if (rolledOut.isErr()) return rolledOut;
    const scheduled = await setSchedule(deploy, plan.value, rolledOut.value);
    return scheduled.isErr() ? err(scheduled.error) : rolledOut;
  } finally {
    permit.release();
    if (located.kind === "object") await discardSource(deploy, source);
  }
};

const doneOf = ({ url, revision, runner }: RolledOut): DeployUpdate =>
  done(url, `Revision ${revision} serves all traffic${runner === undefined ? "" : ` (${runner})`}`);

/** Runs a deploy to its last record. Never throws: a bug ends the deploy with `internal`. */
export const runDeploy = async (deploy: DeployContext): Promise<void> => {
  const { deploys, ports, run, located } = deploy;
  const permit = deploys.names.acquire(run.name);
  try {
    run.emit(building(`Deploying as '${run.name}'`));
    if (!permit.granted) run.emit(building(`Waiting for an earlier deploy of '${run.name}'`));
    await Promise.race([permit.whenGranted, whenAborted(run.signal)]);
    // Record the status only now, because a platform stores the status of one deploy per name.
    if (!run.signal.aborted) await recordStatus(deploy, building("A deploy began"));
    const outcome = run.signal.aborted ? err(endedEarly(run)) : await runPhases(deploy);
    await recordOutcome(deploy, outcome.match(doneOf, failed));
  } catch (cause) {
    ports.logger.error("a deploy failed with a bug", { deployId: run.deployId, cause });
    const bug = failed({ reason: "internal", message: BUG });
    await recordStatus(deploy, bug).catch(() => undefined);
    if (run.phase !== "ended") run.emit(bug);
  } finally {
    permit.release();
  }
  if (located.kind === "received") await discardSource(deploy, located.source);
};
