/** Runs the phases of a deploy: source, build, and the phases that it shares with a redeploy. */
import { building } from "../../domain/deploy/events.ts";
import type { Source } from "../../ports/source-spool.ts";
import { err } from "../../result.ts";
import { whenAborted } from "../pipeline/when-aborted.ts";
import { pinAgain } from "../secrets/pin-secrets.ts";
import { applyPlan, findAuthor, inRolloutTurn } from "./apply-plan.ts";
import { build } from "./build.ts";
import { discardSource, fetchSource } from "./fetch-source.ts";
import { type DeployContext, endedEarly, type PhaseResult } from "./phase.ts";
import { planAgain } from "./plan.ts";
import type { RolledOut } from "./roll-out.ts";
import { runToEnd } from "./run-to-end.ts";

const runPhases = async (deploy: DeployContext): Promise<PhaseResult<RolledOut>> => {
  const { deploys, run, declaration, located } = deploy;
  const permit = deploys.builds.acquire(run.owner);
  let source: Source | undefined;
  if (!permit.granted) run.emit(building("Waiting for another build of your account"));
  try {
    await Promise.race([permit.whenGranted, whenAborted(run.signal)]);
    if (run.signal.aborted) return err(endedEarly(run));
    const plan = await planAgain(deploy);
    if (plan.isErr()) return err(plan.error);
    const createdBy = await findAuthor(deploy);
    const fetched = await fetchSource(deploy);
    if (fetched.isErr()) return err(fetched.error);
    source = fetched.value;
    const image = await build(deploy, source);
    if (image.isErr()) return err(image.error);
    permit.release();
    const { message = null } = declaration;
    const origin = { createdBy, message, sourceDigest: source.digest, rolledBackTo: null };
    return await inRolloutTurn(deploy, async () => {
      const pinned = await pinAgain(deploy, plan.value);
      return pinned.isErr() ? err(pinned.error) : applyPlan(deploy, pinned.value, { image: image.value, origin });
    });
  } finally {
    permit.release();
    if (located.kind === "object") await discardSource(deploy, source);
  }
};

/** Runs a deploy to its last record. Never throws: a bug ends the deploy with `internal`. */
export const runDeploy = async (deploy: DeployContext): Promise<void> => {
  const { deploys, run, located } = deploy;
  await runToEnd(deploy, {
    permit: deploys.names.acquire(run.name),
    first: building(`Deploying as '${run.name}'`),
    waiting: building(`Waiting for an earlier deploy of '${run.name}'`),
    began: building("A deploy began"),
    phases: () => runPhases(deploy),
  });
  if (located.kind === "received") await discardSource(deploy, located.source);
};
