/** ECS as the platform, on fakes with simulated services, for the shared rollout suites and ECS's own. */
import { expect } from "vitest";
import { createEcsPlatform } from "../../../adapters/aws/deploy/platform.ts";
import { randomIds } from "../../../adapters/shared/runtime/system.ts";
import type { ServicePlatform } from "../../../core/ports/service-platform.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { oneMount, type RolloutCloud, rolloutSteps } from "../../clouds/rollouts/steps.ts";
import { type EcsWorldOptions, openEcsWorld } from "../../fakes/aws/ecs/world.ts";
import { createFakeEngine } from "../../fakes/engine/engine.ts";
import { createLeapingClock } from "../clocks/leaping-clock.ts";
import { recordingLogger } from "../logs/silent-logger.ts";

type FakeEngine = Awaited<ReturnType<typeof createFakeEngine>>;

export const openFakeEcs = async (
  options: Partial<EcsWorldOptions<FakeEngine>> = {},
  clock: Clock = createLeapingClock(),
) => {
  const world = await openEcsWorld({ engine: createFakeEngine, clock, ...options });
  const { logger, logged } = recordingLogger();
  const replica = (more: Partial<typeof world.needs> = {}, config = world.config): ServicePlatform => {
    // With pauses of zero, a polling loop would never reach its deadline.
    const deps = { clock, ids: randomIds, logger, random: () => 0.5 };
    return createEcsPlatform(config, world.clients, deps, { ...world.needs, ...more });
  };
  const image = (engineImage = "hello") => {
    world.registry.push(`${world.registry.uri}:${engineImage.replace(":", "-")}`, engineImage);
    return world.registry.byDigest(engineImage);
  };
  return {
    ...world,
    ...rolloutSteps({ replica, image }),
    replica,
    logged,
    clock,
    faultsOf: {
      state: world.state.faults,
      registry: world.registry.faults,
      ecs: world.ecs.faults,
      balancer: world.balancer.faults,
      scaling: world.scaling.faults,
    },
    /** The revision that the load balancer forwards requests to. */
    routed: (name: string): string | undefined => {
      const group = world.balancer.groupFor(`${name}.apps.portside.test`);
      return group === undefined ? undefined : world.ecs.serviceIn(group);
    },
  };
};

export type FakeEcsPlatform = Awaited<ReturnType<typeof openFakeEcs>>;

export const ecsRollouts: RolloutCloud<FakeEcsPlatform> = {
  open: (clock) => openFakeEcs({ rules: 10_000 }, clock),
  freed: "reserved",
  mounting: { mounts: oneMount },
  onlyServing: (run, names) => {
    const serving = names.map((name) => run.routed(name));
    const services = run.ecs.services().map(({ serviceName }) => serviceName);
    expect(services.sort()).toEqual([...serving].sort());
    expect(run.balancer.groups()).toHaveLength(names.length);
    expect(run.balancer.rules()).toHaveLength(names.length);
    expect(run.ecs.definitions()).toHaveLength(names.length);
    expect(run.scaling.targets.size).toBe(names.length);
  },
};
