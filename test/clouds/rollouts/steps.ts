/** A cloud's platform on fakes with simulated services, and common steps of rollout tests. */
import type { Expected } from "../../../core/domain/deploy/plan.ts";
import type { Service, ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { NameState, RolloutEvent, RolloutRequest, ServicePlatform } from "../../../core/ports/service-platform.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { collect, templateFor, testOrigin } from "../../contracts/support.ts";
import type { Faults } from "../../fakes/faults.ts";
import { accountOf, nameOf } from "../../support/http/brands.ts";

/** A read-write volume in the bucket `vol-data`. */
export const oneMount = [
  { path: "/data", volume: "data", bucket: "vol-data", readOnly: false },
] as unknown as ServiceTemplate["mounts"];

export interface PlatformUnderTest {
  /** Another control plane replica on the same cloud account. */
  replica(): ServicePlatform;
  /** Returns an image reference that the fakes resolve to `engineImage`. */
  image(engineImage?: string): string;
}

export const rolloutSteps = ({ replica, image }: PlatformUnderTest) => {
  const platform = replica();
  const rollOut = async (
    template: ServiceTemplate,
    expected: Expected,
    more: Partial<RolloutRequest> & { signal?: AbortSignal; by?: ServicePlatform } = {},
  ): Promise<RolloutEvent[]> => {
    const { signal, by = platform, ...rest } = more;
    const request = { template, expected, origin: testOrigin, listenDeadlineMs: 60_000, ...rest };
    return collect(by.rollout(request, signal === undefined ? {} : { signal }));
  };
  const stateOf = async (name: string): Promise<NameState> => (await platform.find(nameOf(name)))._unsafeUnwrap();
  const serviceOf = async (name: string): Promise<Service> => {
    const state = await stateOf(name);
    if (state.kind !== "held") throw new Error(`'${name}' is ${state.kind}`);
    return state.service;
  };
  return {
    platform,
    replica,
    image,
    rollOut,
    /** Returns the last event of a rollout. */
    endOf: async (...args: Parameters<typeof rollOut>): Promise<RolloutEvent | undefined> =>
      (await rollOut(...args)).at(-1),
    stateOf,
    serviceOf,
    template: (name: string, owner = "acme", more: Partial<ServiceTemplate> = {}): ServiceTemplate => ({
      ...templateFor(accountOf(owner), nameOf(name), image()),
      ...more,
    }),
    expectedOf: async (name: string) => {
      const { etag, owner } = await serviceOf(name);
      return { etag, owner };
    },
  };
};

export type RolloutSteps = ReturnType<typeof rolloutSteps>;

export interface FakePlatform extends RolloutSteps {
  readonly clock: Clock;
  /** Messages that the platform has logged. */
  readonly logged: readonly string[];
  /** The revision that receives a service's requests. */
  routed(name: string): string | undefined;
  readonly faultsOf: Readonly<Record<string, Faults>>;
  close(): Promise<void>;
}

/** The parts of a cloud that the rollout suites need. */
export interface RolloutCloud<W extends FakePlatform> {
  open(clock?: Clock): Promise<W>;
  /** A name's state after its service was removed. */
  readonly freed: "free" | "reserved";
  /** Template fields with which a service mounts a volume. */
  readonly mounting: Partial<ServiceTemplate>;
  /** Asserts that the cloud's resources for deployments belong exactly to these serving names. */
  onlyServing(world: W, names: readonly string[]): void;
}
