/** Rolls out the image of the serving revision again, with the declaration that serves and today's rules. */
import type { DeployPlan } from "../../../domain/deploy/plan.ts";
import type { DeployFailure } from "../../../domain/deploy/reason.ts";
import { declareRelease } from "../../../domain/deploy/releases/rollback.ts";
import type { Revision, Service } from "../../../domain/deploy/service-template.ts";
import { type ControlPlaneError, invalidInput } from "../../../errors.ts";
import { err, ok, safeTry } from "../../../result.ts";
import type { Caller } from "../../pipeline/use-case.ts";
import { applyPlan, findAuthor, inRolloutTurn } from "../apply-plan.ts";
import { ownService } from "../find-name.ts";
import { endedEarly, type PhaseResult, type RunContext } from "../phase.ts";
import { declareContext, failureOfError, preparePlan } from "../plan.ts";
import type { RolledOut } from "../roll-out.ts";

/** The serving revision, and the plan of its redeploy. The plan pins the newest versions of secrets. */
interface PreparedRedeploy {
  readonly service: Service;
  readonly serving: Revision;
  readonly sourceDigest: string | null;
  readonly plan: DeployPlan;
}

const nothingServes: DeployFailure = {
  reason: "image_not_found",
  message: "No revision of the deployment serves. Deploy its source.",
};

const prepareRedeploy = (caller: Caller, { run }: RunContext) =>
  safeTry<PreparedRedeploy, ControlPlaneError | DeployFailure>(async function* () {
    const service = yield* await ownService(caller, run.name);
    const [serving] = service.serving;
    if (serving === undefined) return err(nothingServes);
    const { releases } = caller.context.ports.provider.services;
    const recorded = (yield* await (releases?.(service, caller.options) ?? ok([]))) ?? [];
    const sourceDigest = recorded.find(({ revision }) => revision === serving.id)?.sourceDigest ?? null;
    const declaration = yield* declareRelease(serving, declareContext(caller.context)).mapErr(invalidInput);
    const plan = yield* await preparePlan(caller, declaration);
    return ok({ service, serving, sourceDigest, plan });
  });

const failureOf = (context: RunContext, error: ControlPlaneError | DeployFailure): DeployFailure => {
  if ("reason" in error) return error;
  return error.kind === "not_found" ? { reason: "deleted", message: error.message } : failureOfError(context, error);
};

/**
 * The phases of a redeploy, in the turn of the name's rollouts. If the serving revision already has the planned
 * declaration, changes nothing.
 */
export const redeployPhases = (context: RunContext, message: string): Promise<PhaseResult<RolledOut>> =>
  inRolloutTurn(context, async () => {
    const { run, principal } = context;
    const prepared = await prepareRedeploy({ context, principal, options: { signal: run.signal } }, context);
    if (run.signal.aborted) return err(endedEarly(run));
    if (prepared.isErr()) return err(failureOf(context, prepared.error));
    const { service, serving, sourceDigest, plan } = prepared.value;
    const { cronToken, image } = serving.template;
    if (plan.changes.length === 0) return ok({ url: service.url, revision: serving.id, cronToken });
    const origin = { createdBy: await findAuthor(context), message, sourceDigest, rolledBackTo: null };
    return applyPlan(context, plan, { image, origin });
  });
