/** Following and ending deploys that run, and planning one without running it. */

import type { z } from "zod";
import type { Principal } from "../../domain/accounts/account.ts";
import type { DeployEvent } from "../../domain/deploy/events.ts";
import { planInWords } from "../../domain/deploy/plan.ts";
import { longestRun } from "../../domain/schedules/fire-policy.ts";
import { parseFields } from "../../domain/wire/fields.ts";
import { cancelFields, resumeFields } from "../../domain/wire/requests.ts";
import type { planSchema } from "../../domain/wire/responses.ts";
import { type ControlPlaneError, conflict, forbidden, invalidInput, notFound } from "../../errors.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type Result, type ResultAsync } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import type { Raw } from "../pipeline/raw.ts";
import { type DeployRequest, preparePlan, readDeclaration } from "./plan.ts";
import type { DeployRun, RunningDeploy } from "./running-deploy.ts";

export type PlanResponse = z.output<typeof planSchema>;

/** What the deploy would do, in words and data; the source is optional and not read. */
export const plan = (
  context: Context,
  principal: Principal,
  request: DeployRequest,
  options: CallOptions = {},
): ResultAsync<PlanResponse, ControlPlaneError> =>
  catchBugs<PlanResponse, ControlPlaneError>(async () => {
    const declaration = readDeclaration(context, request, true);
    if (declaration.isErr()) return err(declaration.error);
    const prepared = await preparePlan(context, principal, declaration.value, options);
    return prepared.map((made) => ({
      action: made.action,
      name: made.spec.name,
      summary: planInWords(made),
      changes: made.changes.map((change) => ({ ...change })),
      adjustments: made.adjustments.map((one) => ({ ...one })),
      volumes: { create: [...made.volumesToCreate], detach: [...made.volumesDetached] },
      schedule: {
        action: made.schedule,
        cron: made.spec.schedule?.cron ?? null,
        timezone: made.spec.schedule?.timezone ?? null,
        max_seconds: longestRun(made.spec.timeout, context.ports.provider.capabilities.cron.max_seconds),
      },
      not_enforced: [...made.notEnforced],
    }));
  });

const ownRun = (context: Context, principal: Principal, deployId: string): Result<RunningDeploy, ControlPlaneError> => {
  const run = context.runs.find(deployId);
  if (run === undefined)
    return err(notFound(`No deploy '${deployId}' runs here, or ended within the hour; see last_deploy in the list.`));
  return run.owner === principal.account ? ok(run) : err(forbidden("That deploy belongs to another account."));
};

/** The run and the `seq` to follow it from. */
export const resumeDeploy = (
  context: Context,
  principal: Principal,
  raw: Raw,
): Result<{ run: DeployRun; after: number }, ControlPlaneError> => {
  const { values, issues } = parseFields(resumeFields, raw);
  if (issues.length > 0) return err(invalidInput(issues));
  return ownRun(context, principal, values.deploy_id as string).map((run) => ({ run, after: values.after as number }));
};

/** Ends a deploy with `interrupted`, unless traffic has moved by then: then it is done, and this is a conflict. */
export const cancelDeploy = (
  context: Context,
  principal: Principal,
  raw: Raw,
): ResultAsync<{ detail: string }, ControlPlaneError> =>
  catchBugs<{ detail: string }, ControlPlaneError>(async () => {
    const { values, issues } = parseFields(cancelFields, raw);
    if (issues.length > 0) return err(invalidInput(issues));
    const found = ownRun(context, principal, values.deploy_id as string);
    if (found.isErr()) return err(found.error);
    const run = found.value;
    run.end("interrupted");
    await run.settled;
    // A run that has settled has its last record.
    const last = run.lastRecord as DeployEvent;
    return last.status === "ERROR" && last.reason === "interrupted"
      ? ok({ detail: `The deploy of '${run.name}' was ended.` })
      : err(conflict(`The deploy of '${run.name}' had ended already: ${last.status}.`));
  });
