/** `ServicePlatform` on ECS with Fargate. Deployments share load balancers. */
import type { Service } from "../../../core/domain/deploy/service-template.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { NameState, ServicePlatform } from "../../../core/ports/service-platform.ts";
import { err, ok, okAsync, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { LastLines } from "../../cloud/deploy/last-lines.ts";
import { streamRollout } from "../../cloud/deploy/rollout.ts";
import { failed, INTERRUPTED } from "../../shared/deploy/rollout-ends.ts";
import { type AwsRuntimeDeps, awsCalls, type RetryOptions, throwState } from "../call-policy.ts";
import { pacedCalls } from "../call-rates.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { failureOfUnavailable } from "../failures.ts";
import { stateBucket } from "../state/state-bucket.ts";
import { createBalancer } from "./balancer.ts";
import { balancerForNew, deploymentsIn, hasRoom, sharedByBalancer } from "./balancers.ts";
import { ecsServices } from "./ecs-calls.ts";
import { ecsFault } from "./ecs-faults.ts";
import { createHeldImages } from "./images/held-images.ts";
import { createDigestKey } from "./records/digest-key.ts";
import { noteDeploy } from "./records/note-deploy.ts";
import type { HeldRecord } from "./records/record.ts";
import { createRecords, type Found } from "./records/records.ts";
import { createReleaseObjects } from "./records/releases.ts";
import { serviceOf } from "./records/service.ts";
import { storedReleases } from "./records/stored-releases.ts";
import { heldIn, presentOf, serving } from "./records/writes.ts";
import { removeService } from "./remove-service.ts";
import type { PrepareDeps } from "./rollout/prepare.ts";
import { rollOut } from "./rollout/rollout.ts";
import type { RolloutDeps } from "./rollout/rollout-attempt.ts";
import { createScaling } from "./rollout/scaling.ts";

export interface EcsPlatformDeps extends Omit<PrepareDeps, "images" | "location"> {
  readonly lastLines: LastLines;
}

export const createEcsPlatform = (
  config: Pick<AwsConfig, "region" | "releasesKept" | "settleSeconds" | "shared">,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
  platformDeps: EcsPlatformDeps,
): ServicePlatform => {
  const { clock, ids, logger } = runtime;
  const { region, releasesKept, shared } = config;
  const call = pacedCalls(awsCalls(runtime, ecsFault), clock);
  const bucket = stateBucket(shared.stateBucket, clients, awsCalls(runtime));
  const records = createRecords(bucket);
  const releases = createReleaseObjects(bucket);
  const digestKey = createDigestKey(bucket);
  const images = createHeldImages(shared, clients, runtime);
  const services = ecsServices(shared.cluster, clients, call);
  const byBalancer = sharedByBalancer(shared).map(
    (own, balancerIndex): RolloutDeps => ({
      records,
      releases,
      releasesKept,
      images,
      services,
      balancerIndex,
      balancer: createBalancer(own.listenerArn, clients, call),
      scaling: createScaling(own, clients, call),
      location: { region, shared: own },
      clock,
      ids,
      logger,
      ...platformDeps,
      settleMillis: config.settleSeconds * 1000,
    }),
  );
  const [first] = byBalancer as [RolloutDeps, ...RolloutDeps[]];

  /** The index of the load balancer that this process chose for each new deployment whose rule may not exist yet. */
  const placed = new Map<DeploymentName, number>();

  const depsOf = ({ balancer, attempted }: HeldRecord): Result<RolloutDeps, Unavailable> => {
    const deps = byBalancer[balancer];
    return deps === undefined
      ? err(
          unavailable(
            `The deployment '${attempted.name}' uses load balancer ${balancer + 1}, which is missing. The operator can add it to the stack's parameter MoreBalancers.`,
            60,
          ),
        )
      : ok(deps);
  };

  const depsForNew = (name: DeploymentName, retry: RetryOptions): ResultAsync<RolloutDeps, Unavailable> =>
    safeTry(async function* () {
      if (byBalancer.length === 1) return ok(first);
      const counts: number[] = [];
      for (const [index, { balancer }] of byBalancer.entries()) {
        const rules = yield* await balancer.rules(retry).mapErr(throwState);
        const count = deploymentsIn(rules) + [...placed.values()].filter((one) => one === index).length;
        counts.push(count);
        if (hasRoom(count)) break;
      }
      const chosen = balancerForNew(counts);
      placed.set(name, chosen);
      return ok(byBalancer[chosen] ?? first);
    });

  /** Returns the dependencies for the deployment's load balancer. If the name is not in use, calls `ifAbsent`. */
  const depsFor = (
    name: DeploymentName,
    retry: RetryOptions,
    ifAbsent: () => ResultAsync<RolloutDeps, Unavailable>,
  ): ResultAsync<RolloutDeps, Unavailable> =>
    records.read(name, retry).andThen((found) => {
      const held = heldIn(found);
      return held === undefined ? ifAbsent() : depsOf(held);
    });

  const toService = (record: HeldRecord, retry: RetryOptions): ResultAsync<Service, Unavailable> =>
    safeTry(async function* () {
      const deps = yield* depsOf(record);
      const now = yield* await serving(deps, record, retry);
      return ok(serviceOf(record, now, deps.location, clock.now()));
    });

  const stateOf = (found: Found, retry: RetryOptions): ResultAsync<NameState, Unavailable> => {
    const held = heldIn(found);
    if (held !== undefined)
      return toService(held, retry).map((service) => ({ kind: "held", owner: service.owner, service }));
    const present = presentOf(found, clock.now());
    return okAsync(present.kind === "held" ? { kind: "free" } : present);
  };

  return {
    find: (name, { signal } = {}) => records.read(name, { signal }).andThen((found) => stateOf(found, { signal })),

    list: (owner, { signal } = {}) =>
      safeTry(async function* () {
        const services: Service[] = [];
        for (const record of yield* await records.list(owner, { signal }))
          services.push(yield* await toService(record, { signal }));
        return ok(services.sort((a, b) => (a.name < b.name ? -1 : 1)));
      }),

    rollout: streamRollout(logger, async (request, signal, report) => {
      const { name } = request.template;
      const deps = await depsFor(name, { signal }, () => depsForNew(name, { signal }));
      try {
        if (signal.aborted) return failed(INTERRUPTED);
        if (deps.isErr()) return failed(failureOfUnavailable(deps.error));
        return await rollOut(deps.value, request, signal, report);
      } finally {
        placed.delete(name);
      }
    }),

    releases: ({ name, owner }, { signal, newest } = {}) =>
      safeTry(async function* () {
        const held = heldIn(yield* await records.read(name, { signal }));
        if (held === undefined || held.attempted.owner !== owner) return ok([]);
        const now = yield* await serving(yield* depsOf(held), held, { signal });
        return storedReleases({ releases, images, digestKey, logger, releasesKept }, held, now, { signal }, newest);
      }),

    remove: (name, expected, options = {}) =>
      depsFor(name, options, () => okAsync(first)).andThen((deps) => removeService(deps, name, expected, options)),

    noteDeploy: (service, outcome, options) => noteDeploy(first, service, outcome, options),
  };
};
