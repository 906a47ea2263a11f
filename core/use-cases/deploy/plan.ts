/** Parses the request of a deploy or plan and computes the plan, without changing anything. */
import type { z } from "zod";
import { type DeclareContext, type DeployDeclaration, declareDeploy } from "../../domain/deploy/declaration.ts";
import type { deployFields } from "../../domain/deploy/fields.ts";
import { healthIssues } from "../../domain/deploy/health.ts";
import { sumOfMinimums } from "../../domain/deploy/instances.ts";
import { type DeployPlan, describePlan, planDeploy } from "../../domain/deploy/plan.ts";
import { applyPolicies } from "../../domain/deploy/policy.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import { type ServiceSpec, shownTemplate } from "../../domain/deploy/service-template.ts";
import { attemptTimeout } from "../../domain/schedules/fire-policy.ts";
import type { PinnedSecrets } from "../../domain/secrets/references.ts";
import { priceOfMinimum } from "../../domain/usage/instance-price.ts";
import type { RequestFields } from "../../domain/wire/fields.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import type { planSchema } from "../../domain/wire/responses.ts";
import { type ControlPlaneError, invalidInput, unavailable } from "../../errors.ts";
import type { ReceivedSource } from "../../ports/source-spool.ts";
import { err, ok, type Result, safeTry } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import type { KeyedSemaphore } from "../pipeline/keyed-semaphore.ts";
import { type Call, type Caller, parsedUseCase } from "../pipeline/use-case.ts";
import { pinSecrets } from "../secrets/pin-secrets.ts";
import { volumeQuotaProblem } from "../volumes/volumes.ts";
import { findName } from "./find-name.ts";
import { BUG, type DeployContext, endedEarly, type PhaseResult, type RunContext } from "./phase.ts";

/** The fields of a deploy by their wire names, as JSON values. */
export type DeployFields = RequestFields<typeof deployFields>;

/** The request of a deploy or a plan. */
export interface DeployRequest {
  readonly fields: DeployFields;
  /** The result of `receiveSource`. Absent if the request has no archive. */
  readonly archive?: ReceivedSource | undefined;
  /** Issues that the host found in the request. The error lists them with all others. */
  readonly issues?: readonly Issue[];
}

/** The response of a plan: the changes that the deploy would make, as data and as sentences. */
export type PlanResponse = z.output<typeof planSchema>;

export const declareContext = ({ ports, settings }: Context): DeclareContext => ({
  capabilities: ports.provider.capabilities,
  limits: settings.accountLimits,
  reserved: settings.reservedNames,
  envAliases: settings.envAliases,
});

/** Parses the request. The error lists all issues of the request. */
export const readDeclaration = (
  context: Context,
  request: DeployRequest,
  sourceOptional = false,
): Result<DeployDeclaration, ControlPlaneError> => {
  const { archive, issues = [] } = request;
  const declared = declareDeploy(request.fields, {
    ...declareContext(context),
    archive: archive === undefined ? undefined : { issues: archive.kind === "rejected" ? archive.issues : [] },
    sourceOptional,
  });
  if (declared.isOk() && issues.length === 0) return ok(declared.value);
  return err(invalidInput([...issues, ...(declared.isErr() ? declared.error : [])]));
};

/**
 * Reads the current service, checks its owner and the quotas, applies the policies, and computes the plan.
 * @param restored the pinned secrets of a rollback; by default, pins the references of the declaration
 */
export const preparePlan = (caller: Caller, declaration: DeployDeclaration, restored?: PinnedSecrets) =>
  safeTry(async function* () {
    const { context, principal, options } = caller;
    const { services, capabilities } = context.ports.provider;
    const { account } = principal;
    const found = yield* await findName(caller, declaration.name);
    const current = found.kind === "held" ? found.service : null;
    const { deployments: max } = context.settings.accountLimits;
    if (current === null && (yield* await services.list(account, options)).length >= max) {
      const message = `your account has reached its limit of ${max} deployments; delete one first`;
      return err(invalidInput([issue(["function_name"], message, "quota_exceeded")]));
    }
    const question = { declaration, current: current && shownTemplate(current), principal };
    const ruled = yield* applyPolicies(context.settings.policies, question, declareContext(context)).mapErr((error) =>
      "kind" in error ? error : invalidInput(error),
    );
    const volumes = yield* await availableVolumes(caller, ruled.declaration);
    const secrets = restored ?? (yield* await pinSecrets(caller, ruled.declaration, current));
    const { declaration: final, adjustments } = ruled;
    const planned = planDeploy(account, final, current, capabilities, volumes, adjustments, secrets);
    // The deployment may keep an earlier health check that conflicts with the declared fields.
    const issues = healthIssues(planned.spec, capabilities);
    if (issues.length > 0) return err(invalidInput(issues));
    if (planned.spec.minInstances !== undefined) yield* await checkMinimum(caller, planned.spec);
    return ok(planned);
  });

/** Fails if the minimums of the account's services use up the instance quota. A deploy needs one more instance. */
const checkMinimum = ({ context, principal, options }: Caller, spec: ServiceSpec) =>
  context.ports.provider.services.list(principal.account, options).andThen((services) => {
    const { instances: max } = context.settings.accountLimits;
    const sum = sumOfMinimums(services, spec);
    const message = `your services would keep ${sum} instances running, but may keep at most ${max - 1}: the account's limit is ${max}, and deploys need one; reduce min_instances`;
    return sum >= max ? err(invalidInput([issue(["min_instances"], message, "quota_exceeded")])) : ok(undefined);
  });

/** Returns an error if too many deploys of a name wait for their turn. */
export const queueProblem = (
  { settings }: Context,
  queue: Pick<KeyedSemaphore, "waiting">,
  name: DeploymentName,
): ControlPlaneError | undefined => {
  const { queuedPerName: max } = settings.deployLimits;
  return queue.waiting(name) >= max
    ? unavailable(
        `${max} deploys of '${name}' are already waiting, which is the limit. Try again when one of them has begun.`,
        10,
      )
    : undefined;
};

/** Converts an error of the second plan, which is computed after the wait for earlier deploys. Logs bugs. */
export const failureOfError = ({ ports, run }: RunContext, error: ControlPlaneError): DeployFailure => {
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
      ports.logger.error("a deploy failed with a bug", {
        deployId: run.deployId,
        bug: error.message,
        ...(error.kind === "internal" ? { cause: error.cause } : {}),
      });
      return { reason: "internal", message: BUG };
  }
};

/** Plans a deploy again after it has waited for earlier deploys. */
export const planAgain = async (deploy: DeployContext): Promise<PhaseResult<DeployPlan>> => {
  const { run, principal, declaration } = deploy;
  const plan = await preparePlan({ context: deploy, principal, options: { signal: run.signal } }, declaration);
  return run.signal.aborted ? err(endedEarly(run)) : plan.mapErr((error) => failureOfError(deploy, error));
};

/**
 * Returns the account's volumes, or an empty list if the declaration has no mounts. Fails if the volumes to create
 * exceed the quota.
 */
const availableVolumes = ({ context, principal, options }: Caller, { mounts }: DeployDeclaration) =>
  safeTry(async function* () {
    if (mounts.length === 0) return ok([]);
    const own = yield* await context.ports.provider.volumes.list(principal.account, options);
    const names = new Set([...own.map(({ name }) => name), ...mounts.map(({ volume }) => volume)]);
    const full = names.size > own.length ? volumeQuotaProblem(context, names.size) : undefined;
    return full === undefined ? ok(own) : err(invalidInput([issue(["volumes"], full, "quota_exceeded")]));
  });

/** Converts a plan to its client view. */
export const planResponseOf = ({ ports }: Context, planned: DeployPlan): PlanResponse => ({
  action: planned.action,
  name: planned.spec.name,
  summary: describePlan(planned, ports.provider.instancePrices),
  changes: planned.changes.map((change) => ({ ...change })),
  adjustments: planned.adjustments.map((adjustment) => ({ ...adjustment })),
  volumes: { create: [...planned.volumesToCreate], detach: [...planned.volumesDetached] },
  schedule: {
    action: planned.schedule,
    cron: planned.spec.schedule?.cron ?? null,
    timezone: planned.spec.schedule?.timezone ?? null,
    max_seconds: attemptTimeout(planned.spec.timeout, ports.provider.capabilities.cron.max_seconds),
  },
  min_instances_price: priceOfMinimum(ports.provider.instancePrices, planned.spec),
  not_enforced: [...planned.notEnforced],
});

/** Plans a deploy without running it. The request may omit the source. */
export const plan = parsedUseCase({
  run: (call: Call<DeployRequest>) =>
    readDeclaration(call.context, call.input, true)
      .asyncAndThen((declaration) => preparePlan(call, declaration))
      .map((planned) => planResponseOf(call.context, planned)),
});
