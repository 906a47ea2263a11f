/** A cloud's platform over fakes whose services are pretended, and the steps that tests of rollouts take on it. */
import type { Expected } from "../../../core/domain/deploy-plan.ts";
import type { Service, ServiceTemplate } from "../../../core/domain/service-template.ts";
import type { NameState, RolloutEvent, RolloutRequest, ServicePlatform } from "../../../core/ports/service-platform.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { collect, templateFor } from "../../contracts/support.ts";
import type { Faults } from "../../fakes/faults.ts";
import { accountOf, nameOf } from "../../support/brands.ts";

/** A volume that is read and written, in the bucket `vol-data`. */
export const oneMount = [
  { path: "/data", volume: "data", bucket: "vol-data", readOnly: false },
] as unknown as ServiceTemplate["mounts"];

export interface PlatformParts {
  /** Another replica of the control plane, on the same account. */
  replica(): ServicePlatform;
  /** The reference of an image that the fakes know: what the engine takes it for. */
  image(engineImage?: string): string;
}

export const rolloutSteps = ({ replica, image }: PlatformParts) => {
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
    /** The last event of a rollout. */
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

export interface PretendedPlatform extends RolloutSteps {
  readonly clock: Clock;
  /** What the platform told its logger. */
  readonly said: readonly string[];
  /** The revision that requests for a service reach. */
  routed(name: string): string | undefined;
  readonly faultsOf: Readonly<Record<string, Faults>>;
  close(): Promise<void>;
}

/** What suites of rollouts have to know of a cloud. */
export interface RolloutCloud<W extends PretendedPlatform> {
  open(clock?: Clock): Promise<W>;
  /** What a name is once its service was removed. */
  readonly freed: "free" | "reserved";
  /** What a template needs besides, to mount a volume. */
  readonly mounting: Partial<ServiceTemplate>;
  /** Asserts that of all that a cloud keeps for deployments only that is left which serves these names. */
  onlyServing(world: W, names: readonly string[]): void;
}
