/** The use cases that check a deployment name, list deployments and delete a deployment. */
import type { z } from "zod";
import { mayUse } from "../../domain/accounts/account.ts";
import { type Deployment, deploymentOf, firstDeploymentOf } from "../../domain/deploy/deployment.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import { type DeploymentName, deploymentNameProblem } from "../../domain/wire/names.ts";
import { checkNameFields, deleteFields } from "../../domain/wire/requests.ts";
import type { nameCheckSchema } from "../../domain/wire/responses.ts";
import type { ControlPlaneError } from "../../errors.ts";
import { err, ok, type Result, safeTry } from "../../result.ts";
import { detachDomains } from "../domains/domains.ts";
import type { Permit } from "../pipeline/keyed-semaphore.ts";
import { accountUseCase, type Caller, useCase } from "../pipeline/use-case.ts";
import { ownService } from "./find-name.ts";

/** The result of `checkName`: whether the account may deploy under the name, and the reason if not. */
export type NameCheck = z.output<typeof nameCheckSchema>;

/** Checks whether the account may deploy under a name. For an invalid or taken name, succeeds with a reason. */
export const checkName = useCase({
  fields: checkNameFields,
  run: async ({ context, principal, input: { name }, options }): Promise<Result<NameCheck, ControlPlaneError>> => {
    const problem = deploymentNameProblem(name, context.settings.reservedNames);
    if (problem !== undefined) return ok({ available: false, reason: problem });
    const found = await context.ports.provider.services.find(name, options);
    return found.map((state) =>
      mayUse(principal.account, state)
        ? { available: true, reason: "" }
        : { available: false, reason: "the name is taken; choose another" },
    );
  },
});

/** Adds the deployments whose first deploy runs in this process, because the platform does not store them yet. */
const withFirstDeploys = ({ context, principal }: Caller, known: readonly Deployment[]): readonly Deployment[] => {
  const firstDeploys = context.deploys.firstDeploys(principal.account);
  if (firstDeploys.length === 0) return known;
  const byName = new Map<string, Deployment>();
  const { region } = context.ports.provider.capabilities;
  for (const { first, deployId, beganAt, name } of firstDeploys)
    if (first !== undefined && !byName.has(name))
      byName.set(name, firstDeploymentOf({ spec: first, deployId, region, beganAt: timestampOf(beganAt) }));
  for (const one of known) byName.set(one.name, one);
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
};

/** Clients poll lists. A platform that limits reads may return its previous list for this many milliseconds. */
export const LIST_MAX_AGE_MS = 5000;

/** Lists the account's deployments, sorted by name. */
export const listDeployments = accountUseCase({
  run: async (call) => {
    const options = { ...call.options, maxAgeMs: LIST_MAX_AGE_MS };
    const services = await call.context.ports.provider.services.list(call.principal.account, options);
    return services.map((own) => withFirstDeploys(call, own.map(deploymentOf)));
  },
});

const removeService = (caller: Caller, name: DeploymentName) =>
  safeTry(async function* () {
    const { context, options } = caller;
    const { services, logs, scheduler, domains } = context.ports.provider;
    const { etag, owner } = yield* await ownService(caller, name);
    // Remove the schedule first, so that it never calls a deleted service.
    yield* await scheduler.remove({ name, owner }, options);
    const remove = () => services.remove(name, { etag, owner }, options);
    // The permit of `Context.domains` prevents a concurrent request from adding a domain to the deleted deployment.
    const removed =
      domains === undefined
        ? await remove()
        : await context.domains.run(owner, () => detachDomains(caller, name, remove));
    yield* removed;
    const json = { event: "delete", message: "The deployment was deleted" };
    const logged = await logs.append([{ owner, service: name, severity: "NOTICE", logName: "platform", json }]);
    if (logged.isErr()) context.ports.logger.warn("the deletion of a deployment was not logged", { name });
    return ok({ detail: `'${name}' was removed. Its volumes and logs are kept.` });
  });

/** Ends the deploys of the name, then stops and deletes the deployment. Its volumes and logs remain. */
export const deleteDeployment = useCase({
  fields: deleteFields,
  authorize: async (call) => {
    const { name } = call.input;
    const active = call.context.deploys.active(call.principal.account, name);
    const service = await ownService(call, name);
    return service.isErr() && !(service.error.kind === "not_found" && active.length > 0)
      ? err(service.error)
      : ok(active);
  },
  run: async (call, active) => {
    const { name } = call.input;
    for (const run of active) run.end("deleted");
    const { names, rollouts } = call.context.deploys;
    const permits: Permit[] = [];
    try {
      // Acquire the permits in the same order as a deploy. The opposite order could cause a deadlock.
      for (const semaphore of [names, rollouts]) {
        const permit = semaphore.acquire(name);
        permits.push(permit);
        await permit.whenGranted;
      }
      const removed = await removeService(call, name);
      return removed.isErr() && removed.error.kind === "not_found" && active.length > 0
        ? ok({ detail: `The deploy of '${name}' ended before it created the deployment.` })
        : removed;
    } finally {
      for (const permit of permits) permit.release();
    }
  },
});
