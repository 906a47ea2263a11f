/** `ServicePlatform` on ECS with Fargate. All deployments share one load balancer. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Service } from "../../../core/domain/deploy/service-template.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { NameState, ServicePlatform } from "../../../core/ports/service-platform.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { reaches } from "../../shared/calls/wait-until-reachable.ts";
import { toldRollout } from "../../shared/deploy/cloud-rollout.ts";
import type { LastLines } from "../../shared/deploy/last-lines.ts";
import { type AwsRuntimeDeps, awsCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { type RetryOptions, stateBucket } from "../state-bucket.ts";
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

const resultAsync = <T, E>(work: Promise<Result<T, E>>): ResultAsync<T, E> => new ResultAsync(work);

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
    reaches,
  };

  const shown = async (record: HeldRecord, retry: RetryOptions): Promise<Result<Service, Unavailable>> =>
    (await serving(deps, record, retry)).map((now) => serviceOf(record, now, location, clock.now()));

  const stateOf = async (found: Found, retry: RetryOptions): Promise<Result<NameState, Unavailable>> => {
    const held = heldIn(found);
    if (held === undefined) {
      const present = presentOf(found, clock.now());
      return ok(present.kind === "held" ? { kind: "free" } : present);
    }
    return (await shown(held, retry)).map((service) => ({ kind: "held", owner: service.owner, service }));
  };

  const find: (name: Service["name"], retry: RetryOptions) => Promise<Result<NameState, Unavailable>> = async (
    name,
    retry,
  ) => {
    const read = await deps.records.read(name, retry);
    return read.isErr() ? err(read.error) : stateOf(read.value, retry);
  };

  const list = async (owner: AccountId, retry: RetryOptions): Promise<Result<readonly Service[], Unavailable>> => {
    const records = await deps.records.list(owner, retry);
    if (records.isErr()) return err(records.error);
    const services: Service[] = [];
    for (const record of records.value) {
      const one = await shown(record, retry);
      if (one.isErr()) return err(one.error);
      services.push(one.value);
    }
    return ok(services.sort((a, b) => (a.name < b.name ? -1 : 1)));
  };

  return {
    find: (name, { signal } = {}) => resultAsync(find(name, { signal })),

    list: (owner, { signal } = {}) => resultAsync(list(owner, { signal })),

    rollout: toldRollout(logger, (request, signal, report) => rollOut(deps, request, signal, report)),

    remove: (name, expected, options) => resultAsync(removeService(deps, name, expected, options)),

    noteDeploy: ({ name, owner }, outcome, options = {}) =>
      resultAsync(noteDeploy(deps, { name, owner }, outcome, options)),
  };
};
