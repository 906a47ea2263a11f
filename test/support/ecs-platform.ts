/** ECS as the platform over fakes whose services are pretended, and the steps that its tests take. */
import { createEcsPlatform } from "../../adapters/aws/ecs/platform.ts";
import { randomIds } from "../../adapters/shared/system.ts";
import type { Expected } from "../../core/domain/deploy-plan.ts";
import type { Service, ServiceTemplate } from "../../core/domain/service-template.ts";
import type { RolloutEvent, RolloutRequest, ServicePlatform } from "../../core/ports/service-platform.ts";
import type { Clock } from "../../core/ports/system.ts";
import { collect, templateFor } from "../contracts/support.ts";
import { type EcsWorldOptions, openEcsWorld } from "../fakes/aws/ecs/world.ts";
import { createPretendedEngine } from "../fakes/engine/engine.ts";
import { accountOf, nameOf } from "./brands.ts";
import { createLeapingClock } from "./leaping-clock.ts";
import { keepingLogger } from "./silent-logger.ts";

type PretendedEngine = Awaited<ReturnType<typeof createPretendedEngine>>;

export const openPretendedEcs = async (
  options: Partial<EcsWorldOptions<PretendedEngine>> = {},
  clock: Clock = createLeapingClock(),
) => {
  const world = await openEcsWorld({ engine: createPretendedEngine, ...options });
  const { logger, said } = keepingLogger();
  const replica = (more: Partial<typeof world.needs> = {}): ServicePlatform => {
    // A pause of nothing would let a loop of repeats never pass its deadline.
    const ambient = { clock, ids: randomIds, logger, random: () => 0.5 };
    return createEcsPlatform(world.config, world.clients, ambient, { ...world.needs, ...more });
  };
  const image = (engineImage = "hello") => {
    const reference = `${world.registry.uri}:${engineImage.replace(":", "-")}`;
    world.registry.push(reference, engineImage);
    return reference;
  };
  const platform = replica();
  const rollOut = async (
    template: ServiceTemplate,
    expected: Expected,
    more: Partial<RolloutRequest> & { signal?: AbortSignal; by?: ServicePlatform } = {},
  ): Promise<RolloutEvent[]> => {
    const { signal, by = platform, ...rest } = more;
    const request = { template, expected, listenDeadline: 60_000, ...rest };
    return collect(by.rollout(request, signal === undefined ? {} : { signal }));
  };
  const serviceOf = async (name: string): Promise<Service> => {
    const state = (await platform.find(nameOf(name)))._unsafeUnwrap();
    if (state.kind !== "held") throw new Error(`'${name}' is ${state.kind}`);
    return state.service;
  };
  return {
    ...world,
    said,
    clock,
    platform,
    replica,
    image,
    rollOut,
    serviceOf,
    template: (name: string, owner = "acme", more: Partial<ServiceTemplate> = {}): ServiceTemplate => ({
      ...templateFor(accountOf(owner), nameOf(name), image()),
      ...more,
    }),
    expectedOf: async (name: string) => {
      const { etag, owner } = await serviceOf(name);
      return { etag, owner };
    },
    /** The revision that the load balancer sends requests to. */
    routed: (name: string): string | undefined => {
      const group = world.balancer.groupFor(`${name}.apps.portside.test`);
      return group === undefined ? undefined : world.ecs.serviceIn(group);
    },
  };
};

export type PretendedEcs = Awaited<ReturnType<typeof openPretendedEcs>>;
