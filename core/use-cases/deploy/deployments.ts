/** Names and deployments: is a name free, what runs, remove it. */
import { mayUse, type Principal } from "../../domain/accounts/account.ts";
import { type Deployment, deploymentOf, firstDeploymentOf } from "../../domain/deploy/deployment.ts";
import type { Service } from "../../domain/deploy/service-template.ts";
import { parseFields } from "../../domain/wire/fields.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import { type DeploymentName, deploymentNameProblem } from "../../domain/wire/names.ts";
import { checkNameFields, deleteFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, forbidden, invalidInput, notFound } from "../../errors.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type Result, type ResultAsync } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import type { Raw } from "../pipeline/raw.ts";

export interface NameCheck {
  readonly available: boolean;
  readonly reason: string;
}

/** May the caller deploy under the name? A bad or taken name is an answer with a reason, not an error. */
export const checkName = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<NameCheck, ControlPlaneError> =>
  catchBugs<NameCheck, ControlPlaneError>(async () => {
    const { values, issues } = parseFields(checkNameFields, raw);
    if (issues.length > 0) return err(invalidInput(issues));
    const name = values.name as DeploymentName;
    const problem = deploymentNameProblem(name, context.settings.reservedNames);
    if (problem !== undefined) return ok({ available: false, reason: problem });
    const found = await context.ports.provider.services.find(name, options);
    return found.map((state) =>
      mayUse(principal.account, state)
        ? { available: true, reason: "" }
        : { available: false, reason: "the name is taken; choose another" },
    );
  });

/** The caller's deployments, by name. */
export const listDeployments = (
  context: Context,
  principal: Principal,
  options: CallOptions = {},
): ResultAsync<readonly Deployment[], ControlPlaneError> =>
  // Not `ResultAsync.map`: what it makes lives until the next full collection of garbage, and this is asked most.
  catchBugs<readonly Deployment[], ControlPlaneError>(async () => {
    const services = await context.ports.provider.services.list(principal.account, options);
    return services.map((own) => withFirstDeploys(context, principal, own.map(deploymentOf)));
  });

/** Adds the deployments whose first build runs here: their platform does not know them yet. */
const withFirstDeploys = (
  { runs, ports }: Context,
  { account }: Principal,
  known: readonly Deployment[],
): readonly Deployment[] => {
  const making = runs.makingNew(account);
  if (making.length === 0) return known;
  const byName = new Map<string, Deployment>();
  const { region } = ports.provider.capabilities;
  for (const { first, deployId, beganAt, name } of making)
    if (first !== undefined && !byName.has(name))
      byName.set(name, firstDeploymentOf({ spec: first, deployId, region, beganAt: timestampOf(beganAt) }));
  for (const one of known) byName.set(one.name, one);
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
};

/**
 * Stops and removes a deployment; ends its running and waiting deploys first. Volumes and logs stay.
 */
export const deleteDeployment = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<{ detail: string }, ControlPlaneError> =>
  catchBugs<{ detail: string }, ControlPlaneError>(async () => {
    const { values, issues } = parseFields(deleteFields, raw);
    if (issues.length > 0) return err(invalidInput(issues));
    const name = values.name as DeploymentName;
    const active = context.runs.active(principal.account, name);
    const present = await ownService(context, principal, name, options);
    if (present.isErr() && !(present.error.kind === "not_found" && active.length > 0)) return err(present.error);
    for (const run of active) run.end("deleted");
    const permit = context.runs.names.acquire(name);
    try {
      await permit.whenGranted;
      const removed = await removeService(context, principal, name, options);
      if (removed.isErr() && removed.error.kind === "not_found" && active.length > 0)
        return ok({ detail: `The deploy of '${name}' was ended before it made anything.` });
      return removed;
    } finally {
      permit.release();
    }
  });

const ownService = async (
  context: Context,
  principal: Principal,
  name: DeploymentName,
  options: CallOptions,
): Promise<Result<Service, ControlPlaneError>> => {
  const found = await context.ports.provider.services.find(name, options);
  if (found.isErr()) return err(found.error);
  const state = found.value;
  if (!mayUse(principal.account, state)) return err(forbidden(`'${name}' belongs to another account.`));
  return state.kind === "held" ? ok(state.service) : err(notFound(`There is no deployment '${name}'.`));
};

const removeService = async (
  context: Context,
  principal: Principal,
  name: DeploymentName,
  options: CallOptions,
): Promise<Result<{ detail: string }, ControlPlaneError>> => {
  const { services, logs, scheduler } = context.ports.provider;
  const present = await ownService(context, principal, name, options);
  if (present.isErr()) return err(present.error);
  const { etag, owner } = present.value;
  // First, so that nothing fires at a service that is gone.
  const unscheduled = await scheduler.remove({ name, owner }, options);
  if (unscheduled.isErr()) return err(unscheduled.error);
  const removed = await services.remove(name, { etag, owner }, options);
  if (removed.isErr()) return err(removed.error);
  const json = { event: "delete", message: "The deployment was deleted" };
  const logged = await logs.append([{ owner, service: name, severity: "NOTICE", logName: "platform", json }]);
  if (logged.isErr()) context.ports.logger.warn("a delete was not logged", { name });
  return ok({ detail: `'${name}' was removed. Its volumes and logs stay.` });
};
