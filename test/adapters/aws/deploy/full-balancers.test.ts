/**
 * Builds and services pass the contract tests of their ports on the last load balancer, because the others are full.
 * `../contract.test.ts` runs every case on the first load balancer, so a run without `PORTSIDE_DEPLOYMENTS` samples the
 * cases.
 */

import { awsCapabilities } from "../../../../adapters/aws/capabilities.ts";
import { createCodeBuilder } from "../../../../adapters/aws/deploy/build/builder.ts";
import { createEcsPlatform } from "../../../../adapters/aws/deploy/platform.ts";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/runtime/system.ts";
import {
  contractTests,
  freshNames,
  imageBuilderCases,
  runningServiceCases,
  servicePlatformCases,
} from "../../../contracts/index.ts";
import { openBuildWorld } from "../../../fakes/aws/build-world.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { createLocalEngine } from "../../../fakes/engine/local-engine.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { nodeContractSources } from "../../../support/providers/contract-sources.ts";
import { has } from "../../../support/vitest/machine.ts";
import { sampled } from "../../../support/vitest/sampled.ts";

const PER_BALANCER = 50;
const { PORTSIDE_DEPLOYMENTS: deployments } = process.env;
/** The number of other deployments, which fill the load balancers. */
const others = deployments === undefined ? PER_BALANCER : Number(deployments);

const start = async () => {
  const runner = has("bubblewrap") ? "bubblewrap" : "process";
  const balancers = Math.ceil((others + 1) / PER_BALANCER);
  const world = await openBuildWorld({ balancers, engine: (onLine) => createLocalEngine({ onLine, runner }) });
  for (let index = 0; index < balancers; index++)
    world.balancer.occupy(index, Math.min(PER_BALANCER, others - index * PER_BALANCER));
  const deps = { clock: createSystemClock(), ids: randomIds, logger: silentLogger };
  const memory = createMemoryProvider().provider;
  const { volumes, cron, logs, sql } = memory.capabilities;
  const provider = {
    ...memory,
    capabilities: { ...awsCapabilities({ ...awsConfig, ...world.config }), volumes, cron, logs, sql },
    services: createEcsPlatform(world.config, world.clients, deps, world.needs),
    builder: createCodeBuilder(world.config, world.clients, deps),
  };
  return { subject: { provider, sources: nodeContractSources, ...freshNames("aws") }, close: world.close };
};

const probe = await start();
await probe.close();

const cases = [...servicePlatformCases, ...runningServiceCases, ...imageBuilderCases];
const taken = deployments === undefined ? sampled(cases, 8) : cases;
contractTests("aws builder and platform", taken, start, probe.subject.provider.capabilities);
