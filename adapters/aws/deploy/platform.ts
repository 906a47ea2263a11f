/** `ServicePlatform` on ECS with Fargate. All deployments share one load balancer. */
import type { Service } from "../../../core/domain/deploy/service-template.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { NameState, ServicePlatform } from "../../../core/ports/service-platform.ts";
import { ok, okAsync, type ResultAsync, safeTry } from "../../../core/result.ts";
import { waitUntilReachable } from "../../shared/calls/wait-until-reachable.ts";
import { streamRollout } from "../../shared/deploy/cloud-rollout.ts";
import type { LastLines } from "../../shared/deploy/last-lines.ts";
import { type AwsRuntimeDeps, awsCalls, type RetryOptions } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { stateBucket } from "../state-bucket.ts";
import { createBalancer } from "./balancer.ts";
import { ecsServices } from "./ecs-calls.ts";
import { ecsFault } from "./ecs-faults.ts";
import { noteDeploy } from "./records/note-deploy.ts";
import type { HeldRecord } from "./records/record.ts";
import { createRecords, type Found } from "./records/records.ts";
import { serviceOf } from "./records/service.ts";
import { heldIn, presentOf, serving } from "./records/writes.ts";
import { removeService } from "./remove-service.ts";
import type { PrepareDeps } from "./rollout/prepare.ts";
import { rollOut } from "./rollout/rollout.ts";
import type { RolloutDeps } from "./rollout/rollout-attempt.ts";
import { createScaling } from "./rollout/scaling.ts";

export interface EcsPlatformDeps extends PrepareDeps {
  readonly lastLines: LastLines;
}

export const createEcsPlatform = (
  config: Pick<AwsConfig, "region" | "settleSeconds" | "shared">,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
  platformDeps: EcsPlatformDeps,
): ServicePlatform => {
  const { clock, ids, logger } = runtime;
  const { region, shared } = config;
  const call = awsCalls(runtime, ecsFault);
  const location = { region, shared };
  const deps: RolloutDeps = {
    records: createRecords(stateBucket(shared.stateBucket, clients, awsCalls(runtime))),
    services: ecsServices(shared.cluster, clients, call),
    balancer: createBalancer(shared.listenerArn, clients, call),
    scaling: createScaling(shared, clients, call),
    location,
    clock,
    ids,
    logger,
    ...platformDeps,
    settleMillis: config.settleSeconds * 1000,
    waitUntilReachable,
  };

  const toService = (record: HeldRecord, retry: RetryOptions): ResultAsync<Service, Unavailable> =>
    serving(deps, record, retry).map((now) => serviceOf(record, now, location, clock.now()));

  const stateOf = (found: Found, retry: RetryOptions): ResultAsync<NameState, Unavailable> => {
    const held = heldIn(found);
    if (held !== undefined)
      return toService(held, retry).map((service) => ({ kind: "held", owner: service.owner, service }));
    const present = presentOf(found, clock.now());
    return okAsync(present.kind === "held" ? { kind: "free" } : present);
  };

  return {
    find: (name, { signal } = {}) => deps.records.read(name, { signal }).andThen((found) => stateOf(found, { signal })),

    list: (owner, { signal } = {}) =>
      safeTry(async function* () {
        const services: Service[] = [];
        for (const record of yield* await deps.records.list(owner, { signal }))
          services.push(yield* await toService(record, { signal }));
        return ok(services.sort((a, b) => (a.name < b.name ? -1 : 1)));
      }),

    rollout: streamRollout(logger, (request, signal, report) => rollOut(deps, request, signal, report)),

    remove: (name, expected, options) => removeService(deps, name, expected, options),

    noteDeploy: (service, outcome, options) => noteDeploy(deps, service, outcome, options),
  };
};
