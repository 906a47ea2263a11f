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
import { ecsFault } from "./error-kinds.ts";
import { noteDeploy } from "./records/deploy-note.ts";
import type { HeldRecord } from "./records/record.ts";
import { createRecords, type Found } from "./records/records.ts";
import { serviceOf } from "./records/service.ts";
import { heldIn, presentOf, serving } from "./records/writes.ts";
import { removeService } from "./remove.ts";
import type { PrepareDeps } from "./rollout/prepare.ts";
import { rollOut } from "./rollout/rollout.ts";
import type { RolloutDeps } from "./rollout/run-rollout.ts";
import { createScaling } from "./rollout/scaling.ts";

export interface EcsNeeds extends PrepareDeps {
  readonly lastLines: LastLines;
}

const promised = <T, E>(work: Promise<Result<T, E>>): ResultAsync<T, E> => new ResultAsync(work);

export const createEcsPlatform = (
  config: Pick<AwsConfig, "region" | "settleSeconds" | "shared">,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
  needs: EcsNeeds,
): ServicePlatform => {
  const { clock, ids, logger } = runtime;
  const { region, shared } = config;
  const call = awsCalls(runtime, ecsFault);
  const place = { region, shared };
  const deps: RolloutDeps = {
    records: createRecords(stateBucket(shared.stateBucket, clients, awsCalls(runtime))),
    services: ecsServices(shared.cluster, clients, call),
    balancer: createBalancer(shared.listenerArn, clients, call),
    scaling: createScaling(shared, clients, call),
    place,
    clock,
    ids,
    logger,
    ...needs,
    settleMillis: config.settleSeconds * 1000,
    reaches,
  };

  const shown = async (record: HeldRecord, retry: RetryOptions): Promise<Result<Service, Unavailable>> =>
    (await serving(deps, record, retry)).map((now) => serviceOf(record, now, place, clock.now()));

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
    find: (name, { signal } = {}) => promised(find(name, { signal })),

    list: (owner, { signal } = {}) => promised(list(owner, { signal })),

    rollout: toldRollout(logger, (request, signal, say) => rollOut(deps, request, signal, say)),

    remove: (name, expected, options) => promised(removeService(deps, name, expected, options)),

    noteDeploy: ({ name, owner }, outcome, options = {}) =>
      promised(noteDeploy(deps, { name, owner }, outcome, options)),
  };
};
